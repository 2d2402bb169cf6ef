import { sqliteRecords } from "#records/store/sqlite-connection.ts";
import { rowRecordsContract } from "./row-records.contract.ts";

rowRecordsContract("SQLite", () => sqliteRecords(":memory:"));
