import { options } from "preact";
import { visible } from "./visible-text.ts";

/** Texts of an element that a reader sees or hears. */
const attributes = ["title", "aria-label", "placeholder", "alt"];

/**
 * Lets every text of the page pass `visible`: names, errors and settings are written by models, tools and environments. Values of
 * inputs and addresses stay as they are.
 */
export function showSteeringCharacters(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    if (typeof vnode.type === "string") {
      const props = vnode.props as Record<string, unknown>;
      if ("children" in props) props.children = shown(props.children);
      for (const name of attributes) if (typeof props[name] === "string") props[name] = visible(props[name]);
    }
    before?.(vnode);
  };
}

function shown(children: unknown): unknown {
  if (typeof children === "string") return visible(children);
  return Array.isArray(children) ? children.map(shown) : children;
}
