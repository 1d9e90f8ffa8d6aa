import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { hubSettings } from "../../src/hub/settings.ts";
import { pushFolder } from "./push.ts";

const token = "hf_abcdefghijklmnopqrstuvwxyzabcdefgh";

/** The part of the Hub's interface that a push takes. Files of more than 1,000 bytes are large. */
async function startHub(exists = false) {
  const files = new Map<string, Buffer>();
  const stored = new Map<string, Buffer>();
  const created: unknown[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const path = (request.url ?? "").split("?")[0];
    const json = (value: unknown, status = 200) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    if (!path.startsWith("/storage/") && request.headers.authorization !== `Bearer ${token}`) json({ error: "no" }, 401);
    else if (path === "/api/repos/create") {
      created.push(JSON.parse(body.toString()));
      if (exists) json({ error: "exists" }, 409);
      else json({ url: "x", name: "me/desk", id: "1" });
    } else if (path === "/api/models/me/desk/preupload/main") {
      const asked: { path: string; size: number }[] = JSON.parse(body.toString()).files;
      json({ files: asked.map((file) => ({ path: file.path, uploadMode: file.size > 1000 ? "lfs" : "regular" })) });
    } else if (path === "/me/desk.git/info/lfs/objects/batch") {
      const { objects }: { objects: { oid: string; size: number }[] } = JSON.parse(body.toString());
      const upload = (oid: string) => ({ upload: { href: `${endpoint}/storage/${oid}`, header: {} } });
      json({ transfer: "basic", objects: objects.map(({ oid, size }) => ({ oid, size, actions: upload(oid) })) });
    } else if (path.startsWith("/storage/")) {
      stored.set(path.slice(9), body);
      response.end();
    } else if (path === "/api/models/me/desk/commit/main") {
      for (const line of body.toString().split("\n")) {
        const { key, value } = JSON.parse(line);
        if (key === "file") files.set(value.path, Buffer.from(value.content, value.encoding));
        if (key === "lfsFile") files.set(value.path, stored.get(value.oid) ?? Buffer.from("missing"));
      }
      json({ commitUrl: `${endpoint}/me/desk/commit/c`, commitOid: "c", hookOutput: "", success: true });
    } else json({ error: "unknown" }, 404);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const address = server.address();
  const endpoint = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const settings = (given: string | undefined) =>
    hubSettings({ HF_ENDPOINT: endpoint, HF_HOME: mkdtempSync(join(tmpdir(), "hub-")), HF_TOKEN: given });
  return { files, created, endpoint, settings };
}

function modelFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "push-"));
  writeFileSync(join(folder, "config.json"), "{}");
  mkdirSync(join(folder, "onnx"));
  writeFileSync(join(folder, "onnx/model.onnx"), Buffer.alloc(300_000, "weights"));
  return folder;
}

test.each([false, true])("a folder is put into a repository, large files by their digest; it is there: %s", async (exists) => {
  const hub = await startHub(exists);
  const page = await pushFolder(modelFolder(), "me/desk", { visibility: "private", settings: hub.settings(token) });
  expect(page).toBe(`${hub.endpoint}/me/desk`);
  expect(hub.created).toMatchObject([{ name: "desk", organization: "me", visibility: "private" }]);
  expect([...hub.files.keys()].sort()).toEqual(["config.json", "onnx/model.onnx"]);
  const digest = (bytes: Buffer | undefined) =>
    createHash("sha256")
      .update(bytes ?? "")
      .digest("hex");
  expect(digest(hub.files.get("onnx/model.onnx"))).toBe(digest(Buffer.alloc(300_000, "weights")));
});

test("a wrong token, none, a name and a folder that are none are refused, and nothing is made", async () => {
  const hub = await startHub();
  const push = (folder: string, name: string, given: string | undefined) =>
    pushFolder(folder, name, { visibility: "public", settings: hub.settings(given) });
  const wrong = "hf_zyxwvutsrqponmlkjihgfedcbazyxwvutsrq";
  const refused = await push(modelFolder(), "me/desk", wrong).catch((error: unknown) => error);
  expect(String(refused)).toMatch(/HF_TOKEN is "refused \(401.*a token that may write to me\/desk/);
  expect(String(refused)).not.toContain(wrong);
  await expect(push(modelFolder(), "me/desk", undefined)).rejects.toThrow(/HF_TOKEN is missing/);
  await expect(push(modelFolder(), "desk", token)).rejects.toThrow(/repository is "desk".*owner\/name/);
  await expect(push(`${tmpdir()}/none`, "me/desk", token)).rejects.toThrow(/folder is .*none/);
  await expect(push(mkdtempSync(join(tmpdir(), "empty-")), "me/desk", token)).rejects.toThrow(/retrograde-rl export/);
  expect(hub.created).toEqual([]);
});
