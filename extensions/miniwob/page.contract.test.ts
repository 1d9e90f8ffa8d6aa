import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { openInJsdom } from "./page.ts";

/** What a window can request by itself. @param window the expression of one */
const requests = (window: string, at: string, secret: string) => `
for (const [name, address, isAsync] of [["xhr", "${at}/xhr", true], ["sync", "${at}/sync", false], ["file", "${secret}", true], ["file sync", "${secret}", false]])
  try {
    const request = new ${window}.XMLHttpRequest();
    request.onload = () => said.push(name + " loaded " + request.responseText);
    request.onerror = () => said.push(name + " refused");
    request.open("GET", address, isAsync);
    request.send();
  } catch { said.push(name + " refused"); }
try {
  const socket = new ${window}.WebSocket("${at.replace("http", "ws")}/socket");
  socket.onopen = () => said.push("socket open");
  socket.onerror = () => said.push("socket refused");
} catch { said.push("socket refused"); }`;

const page = (at: string, secret: string) => `<!doctype html><html><head><script>window.said = [];</script>
<script src="../core/own.js"></script><script src="../core/link.js"></script><script src="${secret}"></script>
<script src="${at}/script.js"></script><link rel="stylesheet" href="${at}/a.css"><style>@import "${at}/b.css";</style></head>
<body style="background: url(${at}/back.png)"><img src="${at}/image.png"><iframe src="${at}/frame.html"></iframe>
<iframe id="file" src="${secret}"></iframe><iframe id="blank"></iframe>
<script>
const frame = document.getElementById("blank").contentWindow;
${requests("window", at, secret)}
${requests("frame", at, secret)}
for (const name of ["a", "form"]) {
  const element = document.body.appendChild(document.createElement(name));
  element.href = element.action = "${at}/" + name;
  try { name === "a" ? element.click() : element.submit(); } catch {}
}
try { location.href = "${at}/location"; window.open("${at}/window"); } catch {}
</script></body></html>`;

const hasJsdom = existsSync(join(import.meta.dirname, "../../node_modules/jsdom"));
const because = hasJsdom ? "" : " — skipped: no jsdom (npm install)";

test.skipIf(!hasJsdom)(`a page loads files beside it, and neither others nor the network${because}`, async () => {
  const root = mkdtempSync(join(tmpdir(), "retrograde-pages-"));
  const folder = join(root, "html", "miniwob");
  for (const name of ["miniwob", "core"]) mkdirSync(join(root, "html", name), { recursive: true });
  writeFileSync(join(root, "secret.js"), "window.outside = true;");
  writeFileSync(join(root, "html/core/own.js"), "window.own = true;");
  symlinkSync(join(root, "secret.js"), join(root, "html/core/link.js"));
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(join(folder, "test.html"), page(at, pathToFileURL(join(root, "secret.js")).href));
  try {
    const { evaluate, close } = await openInJsdom(folder, "test");
    await expect.poll(() => evaluate("said.length"), { timeout: 60_000 }).toBe(10);
    const said = ["file", "file sync", "socket", "sync", "xhr"].flatMap((name) => [`${name} refused`, `${name} refused`]);
    expect(await evaluate("JSON.stringify(said.sort())")).toBe(JSON.stringify(said));
    expect(
      await evaluate("[window.own, window.outside, document.getElementById('file').contentDocument.textContent].join()"),
    ).toBe("true,,");
    await close();
    expect(connections).toBe(0);
  } finally {
    server.close();
    rmSync(root, { recursive: true });
  }
});
