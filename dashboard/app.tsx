import { type ReactNode, useEffect, useRef, useState } from "react";
import { useRead } from "./api/queries.ts";
import { Frame } from "./components/frame.tsx";
import { KeyList, useKeys, views } from "./components/keys.tsx";
import { FeedContext, useFeedOfPlace } from "./components/live.tsx";
import { go, href, type Place, usePlace } from "./router/location.ts";
import { carried, rangeOf } from "./router/state.ts";
import { Budgets } from "./views/budgets/budgets.tsx";
import { Decisions } from "./views/decisions/decisions.tsx";
import { Models } from "./views/models/models.tsx";
import { Now } from "./views/now/now.tsx";
import { Playground } from "./views/playground/playground.tsx";
import { PolicyView } from "./views/policy/policy.tsx";

function viewOf({ path }: Place): { readonly name: string; readonly path: string; readonly view: ReactNode } {
  const opened = /^\/decisions\/([^/]+)$/.exec(path)?.[1];
  if (path === "/decisions" || opened !== undefined) {
    const id = opened === undefined ? undefined : decodeURIComponent(opened);
    return { name: "Decisions", path: "/decisions", view: <Decisions opened={id} /> };
  }
  switch (path) {
    case "/":
      return { name: "Now", path, view: <Now /> };
    case "/budgets":
      return { name: "Budgets", path, view: <Budgets /> };
    case "/models":
      return { name: "Models", path, view: <Models /> };
    case "/playground":
      return { name: "Playground", path, view: <Playground /> };
    case "/policy":
      return { name: "Policy", path, view: <PolicyView /> };
    default:
      return { name: "Not found", path, view: <NotFound path={path} /> };
  }
}

function NotFound({ path }: { readonly path: string }) {
  return (
    <p>
      There is no view <code>{path}</code>. The views are {views.map(({ name }) => name).join(", ")}.
    </p>
  );
}

export function App() {
  const place = usePlace();
  const [help, setHelp] = useState(false);
  const current = viewOf(place);
  const session = useRead("GET session", {}, 30_000);
  const summary = useRead("GET summary", { query: rangeOf(place) });
  const feed = useFeedOfPlace(place);
  const main = useRef<HTMLElement>(null);
  const shown = useRef(current.path);

  useKeys({ view: (path) => go(href(path, carried(place))), help: () => setHelp(true) });
  useEffect(() => {
    document.title = `${current.name} · Smart Gateway`;
    if (shown.current === current.path) return;
    shown.current = current.path;
    main.current?.focus({ preventScroll: true }); // a new view is read from its beginning
    scrollTo(0, 0);
  }, [current.path, current.name]);

  return (
    <FeedContext value={feed}>
      <Frame
        title={current.name}
        view={current.path}
        session={session.data}
        summary={summary.data}
        failed={session.isError || summary.isError}
        main={main}
      >
        {current.view}
      </Frame>
      {help && <KeyList onClose={() => setHelp(false)} />}
    </FeedContext>
  );
}
