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

  test("uses no proxy for loopback, or if NO_PROXY says so", () => {
    const env = { ALL_PROXY: "http://proxy.test:3128", NO_PROXY: "example.org,.internal.test" };
    for (const host of ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "example.org", "a.internal.test"]) {
      const { hostname } = routed(`https://${host}/v1`, env);
      expect(hostname).toBe(host.replace(/^\[|\]$/g, ""));
    }
    expect(routed("https://example.com/v1", env).hostname).toBe("proxy.test");
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
