import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Problem } from "./problem.ts";

const block = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/**
 * What is wrong with the file that `NODE_EXTRA_CA_CERTS` names. The runtime reads that file by itself, and only warns, or
 * says nothing, if it adds no authority: then every call to the upstream would fail.
 */
export function extraCaCertsProblems(path: string): Problem[] {
  const problem = (message: string): Problem[] => [
    {
      file: "environment",
      path: "NODE_EXTRA_CA_CERTS",
      message,
      suggestion: "name a file of certificate authorities in PEM form, or unset it",
    },
  ];
  let text: string;
  try {
    text = readFileSync(path, "latin1");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    return problem(`its file cannot be read: ${code}`);
  }
  const blocks = text.match(block) ?? [];
  if (blocks.length === 0) return problem("its file holds no certificate");
  const broken = blocks.findIndex((pem) => !isCertificate(pem));
  return broken < 0 ? [] : problem(`certificate ${broken + 1} of its file cannot be read`);
}

/**
 * Whether the variable is only in `.env`: the runtime reads that file after its certificate authorities, so it has no effect. False
 * where that cannot be found out.
 */
export function isReadTooLate(path: string): boolean {
  if (process.env["NODE_EXTRA_CA_CERTS"] !== path) return false;
  try {
    // The environment with which the process was started (Linux).
    return !readFileSync("/proc/self/environ", "utf8").split("\0").includes(`NODE_EXTRA_CA_CERTS=${path}`);
  } catch {
    return false;
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}
