import { describe, expect, test } from "bun:test";
import { changesFiles, executesCode, worksInRepository } from "./tools.ts";

describe("tools by their names", () => {
  test.each([
    "edit",
    "Edit",
    "MultiEdit",
    "Write",
    "edit_file",
    "write_to_file",
    "replace_in_file",
    "str_replace_based_edit_tool",
    "apply_patch",
    "apply_diff",
    "create_file",
    "NotebookEdit",
    "insert_content",
    "search_and_replace",
    "mcp__filesystem__write_file",
    "create_or_update_file",
  ])("%s changes files", (name) => {
    expect(changesFiles(name)).toBe(true);
    expect(worksInRepository(name)).toBe(true);
  });

  test.each([
    "read_file",
    "Read",
    "list_files",
    "search_files",
    "codebase_search",
    "Grep",
    "glob",
    "bash",
    "execute_command",
  ])("%s works in a repository and changes no file by itself", (name) => {
    expect(changesFiles(name)).toBe(false);
    expect(worksInRepository(name)).toBe(true);
  });

  test.each([
    "get_credit_score",
    "dispatch_driver",
    "create_report",
    "write_email",
    "get_weather",
    "TodoWrite",
    "insert_row",
    "",
  ])("%s has nothing to do with files", (name) => {
    expect(worksInRepository(name)).toBe(false);
  });

  test("tools that read or edit run nothing; a tool with an unknown name may run something", () => {
    for (const name of ["bash", "execute_command", "run_tests", "frobnicate"]) expect(executesCode(name)).toBe(true);
    for (const name of ["read_file", "grep", "WebFetch", "edit_file", ""]) expect(executesCode(name)).toBe(false);
  });
});
