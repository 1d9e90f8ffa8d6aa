import { useEffect, useState } from "preact/hooks";
import { address } from "./api.ts";

/** Where the page is: behind the # of its address, so that no server has to know the paths. */
export interface Route {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const changed = () => setRoute(readRoute());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

function readRoute(): Route {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { parts: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

/** A part of an address that somebody wrote by hand may be no encoding. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function link(parts: readonly string[], query: Readonly<Record<string, string | number | undefined>> = {}): string {
  return address(`#/${parts.map(encodeURIComponent).join("/")}`, query);
}

/** Changes parameters of the address without a new entry in the browser's history. */
export function setQuery(route: Route, changes: Readonly<Record<string, string | undefined>>): void {
  const query = Object.fromEntries([...route.query, ...Object.entries(changes)]) as Record<string, string | undefined>;
  history.replaceState(null, "", link(route.parts, query));
  dispatchEvent(new HashChangeEvent("hashchange"));
}
