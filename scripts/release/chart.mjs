// The chart, as `helm push` uploads it.
import { folder, run } from "./common.mjs";

run("helm", ["package", "deploy/chart", "--destination", folder]);
