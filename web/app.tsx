import { type ReactNode, useEffect, useRef, useState } from "react";
import { useRead, useSession } from "./api/queries.ts";
import { Frame } from "./components/frame.tsx";
import { KeyList, useKeys, views } from "./components/keys.tsx";
import { carried, go, href, rangeOf, usePlace } from "./router.tsx";
import { Budgets } from "./views/budgets/budgets.tsx";
import { Decisions } from "./views/decisions/decisions.tsx";
import { Models } from "./views/models/models.tsx";
import { Now } from "./views/now/now.tsx";
import { Playground } from "./views/playground/playground.tsx";
import { PolicyView } from "./views/policy/policy.tsx";

const shown: Readonly<Record<string, (opened: string | undefined) => ReactNode>> = {
  "/": () => <Now />,
  "/decisions": (opened) => <Decisions opened={opened} />,
  "/budgets": () => <Budgets />,
  "/models": () => <Models />,
  "/playground": () => <Playground />,
  "/policy": () => <PolicyView />,
};

export function App() {
  const place = usePlace();
  const [help, setHelp] = useState(false);
  const opened = /^\/decisions\/([^/]+)$/.exec(place.path)?.[1];
  const path = opened === undefined ? place.path : "/decisions";
  const name = views.find((view) => view.path === path)?.name ?? "Not found";
  const session = useSession();
  const summary = useRead("GET summary", { query: rangeOf(place) });
  const main = useRef<HTMLElement>(null);
  const before = useRef(path);

  useKeys(
    (view) => go(href(view, carried(place))),
    () => setHelp(true),
  );
  useEffect(() => {
    document.title = `${name} · Smart Gateway`;
    if (before.current === path) return;
    before.current = path;
    main.current?.focus({ preventScroll: true }); // a new view is read from its beginning
    scrollTo(0, 0);
  }, [path, name]);

  return (
    <>
      <Frame
        title={name}
        view={path}
        session={session.data}
        summary={summary.data}
        failed={session.isError || summary.isError}
        main={main}
      >
        {shown[path]?.(opened && decodeURIComponent(opened)) ?? (
          <p>
            There is no view <code>{path}</code>. The views are {views.map((view) => view.name).join(", ")}.
          </p>
        )}
      </Frame>
      {help && <KeyList onClose={() => setHelp(false)} />}
    </>
  );
}
