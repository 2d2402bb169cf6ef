import { afterEach, describe, expect, test } from "bun:test";
import { connectTargetOf } from "./connect-target.ts";

const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((name) => [name, name.toLowerCase()]);
const before = Object.fromEntries(names.map((name) => [name, process.env[name]]));

function set(env: { readonly [name: string]: string | undefined }): void {
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

afterEach(() => set(before));

function routed(url: string, env: { readonly [name: string]: string } = {}) {
  set({ ...Object.fromEntries(names.map((name) => [name, undefined])), ...env });
  return connectTargetOf(new URL(url));
}

describe("the route to an upstream", () => {
  test("uses the proxy of the URL's scheme, and CONNECT for https", () => {
    const env = { HTTPS_PROXY: "http://proxy.test:3128", http_proxy: "http://u:p%2Fw@other.test" };
    expect(routed("https://api.example.com/v1", env)).toMatchObject({
      hostname: "proxy.test",
      port: 3_128,
      viaProxy: true,
      tlsFor: "api.example.com",
      tunnel: "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n",
      target: "/v1",
    });
    const plain = routed("http://api.example.com/v1", env);
    expect(plain).toMatchObject({ hostname: "other.test", port: 80, target: "http://api.example.com/v1" });
    expect(plain.proxyHeaders).toBe(`Proxy-Authorization: Basic ${btoa("u:p/w")}\r\n`);
    expect(plain.tlsFor).toBeUndefined();
  });

  test("sends a proxy's password as it is meant: percent-encoded, or with a plain percent sign", () => {
    for (const [written, meant] of [
      ["100%25", "100%"],
      ["100%", "100%"],
      ["a%zz%40", "a%zz%40"],
    ]) {
      const { tunnel } = routed("https://example.com/v1", { HTTPS_PROXY: `http://u:${written}@proxy.test` });
      expect(tunnel).toContain(`Proxy-Authorization: Basic ${btoa(`u:${meant}`)}\r\n`);
    }
  });

  test.each(["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "LOCALHOST.", "a.localhost"])(
    "uses no proxy for %s",
    (host) => {
      expect(routed(`https://${host}/v1`, { ALL_PROXY: "http://proxy.test" }).viaProxy).toBe(false);
    },
  );

  // [NO_PROXY, hosts that it excepts, hosts that it does not], as curl reads it.
  test.each([
    ["*", "example.com 10.0.0.1 [2001:db8::1]", ""],
    ["example.com", "example.com EXAMPLE.com example.com. api.example.com", "notexample.com example.com.test"],
    [".example.com", "example.com api.example.com a.b.example.com", "notexample.com"],
    ["*.example.com", "api.example.com", "example.org"],
    ["com", "example.com", "example.org"],
    ["other.test, example.com", "example.com other.test", "another.test"],
    ["other.test example.com", "example.com other.test", ""],
    ["example.com:443", "example.com", "example.com:8443"],
    ["example.com:8443", "example.com:8443", "example.com"],
    ["10.0.0.0/8", "10.1.2.3 10.255.255.255", "11.0.0.1 example.com"],
    ["192.168.3.0/30", "192.168.3.0 192.168.3.3", "192.168.3.4"],
    ["10.1.2.3/32,172.16.0.0/12:443", "10.1.2.3 172.31.0.1", "10.1.2.4 172.31.0.1:8443 172.32.0.1"],
    ["10.1.2.3", "10.1.2.3", "10.1.2.30 110.1.2.3"],
    ["0.0.0.0/0", "10.1.2.3", "[2001:db8::1] example.com"],
    ["2001:db8::/32", "[2001:db8::1] [2001:0db8:ffff::]", "[2001:db9::1]"],
    ["2001:db8::1", "[2001:DB8::1] [2001:db8:0:0::1]", "[2001:db8::2]"],
    ["[2001:db8::1]:443", "[2001:db8::1]", "[2001:db8::1]:8443"],
    ["fd00::/129, 10.0.0.0/33, 10.0.0.0/x, 10.0.0.0/8/8", "", "[fd00::1] 10.0.0.0"],
    [", ,.,/8,:443,[", "", "example.com 10.0.0.1"],
    ["münchen.example", "xn--mnchen-3ya.example", ""],
  ])("NO_PROXY=%s", (NO_PROXY, excepted, others) => {
    const viaProxy = (hosts: string) =>
      hosts.split(" ").flatMap((host) => {
        const env = { HTTPS_PROXY: "http://proxy.test", NO_PROXY };
        return host === "" ? [] : [`${host} ${routed(`https://${host}/v1`, env).viaProxy}`];
      });
    expect(viaProxy(excepted).filter((seen) => seen.endsWith("true"))).toEqual([]);
    expect(viaProxy(others).filter((seen) => seen.endsWith("false"))).toEqual([]);
  });

  test("refuses proxies other than http:// and URLs other than http(s), without showing credentials", () => {
    for (const proxy of ["https://me:word@proxy.test", "socks5://me:word@proxy.test", "http://"]) {
      expect(() => routed("https://example.com/v1", { HTTPS_PROXY: proxy })).toThrow(
        new RangeError("the upstream's proxy (HTTPS_PROXY or ALL_PROXY) must be an http:// URL"),
      );
    }
    expect(() => routed("ftp://example.com/v1")).toThrow(RangeError);
  });
});
