import { lexer, type Tokens as Marked, type Token } from "marked";
import type { ComponentChildren } from "preact";
import { address, ask, type ReportEntry, useAsked } from "../api.ts";
import { Problem, Scroll } from "../parts/bits.tsx";
import { link } from "../router.ts";

/** The theory lab, the studies and the benchmarks, as the documentation has them. */
export function ReportsPage() {
  const { value, error } = useAsked<readonly ReportEntry[]>("reports", () => ask("/api/reports"));
  const sections = [...new Set(value?.map(({ section }) => section))];
  return (
    <>
      <div class="page-head">
        <h1>Reports</h1>
      </div>
      {error !== undefined && <Problem text={error} />}
      {value === undefined && error === undefined && <p class="muted">Reading …</p>}
      <div class="report-sections">
        {sections.map((section) => (
          <section key={section} class="panel" aria-label={section}>
            <h2>{section}</h2>
            <ul class="plain-list">
              {value
                ?.filter((report) => report.section === section)
                .map(({ path, title }) => (
                  <li key={path}>
                    <a href={link(["report"], { path })}>{title}</a>
                  </li>
                ))}
            </ul>
          </section>
        ))}
      </div>
    </>
  );
}

/** A page in Markdown. It becomes elements one by one and never markup, so that nothing in it can run. */
export function ReportPage({ path }: { readonly path: string }) {
  const { value, error } = useAsked<{ readonly text: string }>(path, () => ask("/api/report", { path }));
  if (error !== undefined) return <Problem text={error} />;
  if (value === undefined) return <p class="muted">Reading …</p>;
  return <article class="prose">{lexer(value.text).map((token, i) => block(token, path, i))}</article>;
}

function block(token: Token, path: string, key: number): ComponentChildren {
  switch (token.type) {
    case "heading": {
      const { depth, tokens } = token as Marked.Heading;
      const Heading = `h${Math.min(depth, 6)}` as "h1";
      return <Heading key={key}>{inline(tokens, path)}</Heading>;
    }
    case "paragraph":
      return <p key={key}>{inline((token as Marked.Paragraph).tokens, path)}</p>;
    case "code":
      return (
        <Scroll key={key} label={`Text ${key + 1}`}>
          <pre>
            <code>{(token as Marked.Code).text}</code>
          </pre>
        </Scroll>
      );
    case "list": {
      const { ordered, items } = token as Marked.List;
      const List = ordered ? "ol" : "ul";
      return (
        <List key={key}>
          {items.map((item, i) => (
            <li key={i}>
              {item.tokens.map((inner, j) => (inner.type === "text" ? inline([inner], path) : block(inner, path, j)))}
            </li>
          ))}
        </List>
      );
    }
    case "blockquote":
      return <blockquote key={key}>{(token as Marked.Blockquote).tokens.map((inner, i) => block(inner, path, i))}</blockquote>;
    case "table": {
      const { header, rows } = token as Marked.Table;
      return (
        <Scroll key={key} label={`Table ${key + 1}`}>
          <table>
            <thead>
              <tr>
                {header.map((cell, i) => (
                  <th scope="col" key={i}>
                    {inline(cell.tokens, path)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, r) => (
                <tr key={r}>
                  {row.map((cell, i) => (
                    <td key={i}>{inline(cell.tokens, path)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      );
    }
    case "hr":
      return <hr key={key} />;
    case "space":
      return null;
    default:
      return <p key={key}>{"text" in token ? String(token.text) : token.raw}</p>;
  }
}

function inline(tokens: readonly Token[] = [], path: string): ComponentChildren {
  return tokens.map((token, i) => {
    switch (token.type) {
      case "strong":
        return <strong key={i}>{inline((token as Marked.Strong).tokens, path)}</strong>;
      case "em":
        return <em key={i}>{inline((token as Marked.Em).tokens, path)}</em>;
      case "codespan":
        return <code key={i}>{(token as Marked.Codespan).text}</code>;
      case "link": {
        const { href, tokens: inner } = token as Marked.Link;
        const target = targetOf(href, path);
        return target === undefined ? (
          inline(inner, path)
        ) : (
          <a key={i} {...target}>
            {inline(inner, path)}
          </a>
        );
      }
      case "image": {
        const { href, text } = token as Marked.Image;
        return <img key={i} alt={text} src={address("/api/report-picture", { path: joined(path, href) })} loading="lazy" />;
      }
      case "br":
        return <br key={i} />;
      case "text":
        return "tokens" in token && token.tokens !== undefined ? inline(token.tokens, path) : unescaped(token.raw);
      default:
        return unescaped(token.raw);
    }
  });
}

function unescaped(text: string): string {
  return text.replace(/\\([\\`*_{}[\]()#+\-.!|])/g, "$1");
}

/** Other pages open here, addresses of the web in a new tab; anything else is no link. */
function targetOf(href: string, path: string): { href: string; target?: string; rel?: string } | undefined {
  if (/^https?:\/\//.test(href)) return { href, target: "_blank", rel: "noreferrer" };
  const file = joined(path, href.replace(/#.*$/, ""));
  return file.endsWith(".md") && !file.startsWith("..") ? { href: link(["report"], { path: file }) } : undefined;
}

function joined(from: string, to: string): string {
  const parts = from.split("/").slice(0, -1);
  for (const part of to.split("/")) {
    if (part === "..") {
      if (parts.length === 0) return to;
      parts.pop();
    } else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}
