declare module "*.css";

/** The types of the API's answers are those of the gateway's code, which runs on Bun. */
interface Worker {
  unref(): void;
}
