/**
 * The program inside of a page, the same in jsdom and in a browser: `wob.start`, `wob.look` and `wob.act`. A text, since it belongs to the page's world
 * and not to this one's.
 */
export const pageScript = String.raw`
window.wob = (() => {
  const outside = new Set(["reward-display", "sync-task-cover", "click-canvas", "query"]);
  const silent = new Set(["SCRIPT", "STYLE", "TITLE", "HEAD", "CANVAS", "DEFS", "BR"]);
  let elements = [];
  const plain = (text) => text.replace(/\s+/g, " ").trim();
  const ownText = (el) => plain([...el.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join(" "));
  const shown = (el) => {
    const style = getComputedStyle(el);
    return style.display !== "none" && style.visibility !== "hidden";
  };
  const typed = new Set(["text", "password", "date", "time", "number", "email", "search", "tel", "url"]);
  function roleOf(el) {
    const tag = el.tagName.toLowerCase();
    if (tag === "input") return typed.has(el.type) ? "textbox" : el.type === "submit" ? "button" : el.type;
    if (tag === "textarea") return "textarea";
    if (tag === "select") return "list";
    if (["option", "button", "td", "th", "label"].includes(tag)) return tag;
    if (el.namespaceURI.endsWith("svg")) return tag;
    const role = el.getAttribute("role");
    if (role && role !== "presentation" && role !== "tabpanel" && role !== "tablist") return role;
    return tag === "a" || el.classList.contains("alink") ? "link" : "text";
  }
  function nameOf(el, role) {
    if (role === "textbox" || role === "textarea" || role === "checkbox" || role === "radio" || role === "list") {
      const label = el.closest("label") ?? (el.id ? document.querySelector('label[for="' + el.id + '"]') : null);
      return label ? plain(label.textContent) : el.placeholder || "";
    }
    if (el.namespaceURI.endsWith("svg") && role !== "svg") {
      const size = el.getAttribute("r") ?? el.getAttribute("width") ?? el.getAttribute("font-size") ?? "";
      return plain([el.getAttribute("fill"), size, el.textContent].filter(Boolean).join(" "));
    }
    return plain(el.textContent) || el.getAttribute("aria-label") || el.title || el.dataset.color || plain(String(el.className));
  }
  function look() {
    const lines = [];
    elements = [];
    const add = (el, role, name, state) => {
      elements.push(el);
      lines.push({ ref: elements.length, role, name, ...state });
    };
    const walk = (el) => {
      if (outside.has(el.id) || silent.has(el.tagName.toUpperCase()) || /\bui-icon\b/.test(el.className) || !shown(el)) return;
      const role = roleOf(el);
      const children = [...el.children].filter((each) => each.tagName !== "BR");
      if (role === "textbox" || role === "textarea") return add(el, role, nameOf(el, role), { value: el.value });
      if (role === "checkbox" || role === "radio") return add(el, role, nameOf(el, role), { checked: el.checked });
      if (role === "list") {
        for (const each of el.options) add(each, "option", plain(each.textContent), { checked: each.selected });
        return;
      }
      const whole = ["button", "link", "tab", "menuitem", "td", "th"].includes(role) && !el.querySelector("input, button, select");
      if (whole || children.length === 0) {
        const name = nameOf(el, role);
        if (name !== "") add(el, role, name, role === "tab" ? { checked: el.getAttribute("aria-selected") === "true" } : {});
        return;
      }
      for (const node of el.childNodes) {
        if (node.nodeType === 1) walk(node);
        else if (node.nodeType === 3 && plain(node.data) !== "" && role !== "label") lines.push({ role: "text", name: plain(node.data) });
      }
    };
    walk(document.body);
    return lines;
  }
  function act(kind, ref, text) {
    const el = elements[ref - 1];
    if (el === undefined || !el.isConnected) return "there is no element " + ref;
    if (el.namespaceURI.endsWith("svg")) for (const name of ["mousedown", "mouseup", "click"]) el.dispatchEvent(new Event(name));
    else if (el.tagName === "OPTION") {
      const list = el.closest("select");
      el.selected = list.multiple ? !el.selected : true;
      for (const name of ["input", "change"]) list.dispatchEvent(new Event(name, { bubbles: true }));
    } else if (kind === "click") {
      const target = el.getAttribute("role") === "tab" ? (el.querySelector("a") ?? el) : el;
      target.click();
      el.focus();
    } else {
      if (!("value" in el) || el.disabled) return "nothing can be typed into element " + ref;
      el.focus();
      el.value = text;
      const key = text.slice(-1);
      el.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      el.dispatchEvent(new Event("input", { bubbles: true }));
      el.dispatchEvent(new KeyboardEvent("keyup", { key, bubbles: true }));
      el.dispatchEvent(new Event("change", { bubbles: true }));
    }
    return "";
  }
  function start(seed) {
    if (window.jQuery && jQuery.fx) jQuery.fx.off = true;
    core.EPISODE_MAX_TIME = 2147483647;
    Math.seedrandom(seed);
    core.startEpisodeReal();
    const utterance = core.getUtterance();
    return plain(typeof utterance === "string" ? utterance : utterance.utterance);
  }
  const state = () => ({ done: WOB_DONE_GLOBAL, reward: WOB_RAW_REWARD_GLOBAL });
  return { start, look, act, state };
})();
`;
