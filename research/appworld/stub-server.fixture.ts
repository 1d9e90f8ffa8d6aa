import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * An executable that takes the arguments of the Python that would serve AppWorld, and serves a world of one counter: `+1` adds, `show` prints. Other
 * cells are accidents: `die`, `hang`, `flood`, `nonsense`, `fail`, `random`.
 */
const program = `#!${process.execPath}
const http = require("node:http");
const [port, token] = process.argv.slice(-2);
let count = 0, done = false, task;
const out = (response, output) => response.end(JSON.stringify({ output }));
const cells = {
  "+1": (response) => { count++; out(response, "Execution successful."); },
  show: (response) => out(response, count + "\\n"),
  env: (response) => out(response, JSON.stringify(Object.keys(process.env))),
  done: (response) => { done = true; out(response, ""); },
  random: (response) => out(response, String(Math.random())),
  pid: (response) => out(response, String(process.pid)),
  die: () => process.exit(3),
  hang: () => {},
  flood: (response) => { const pour = () => { while (response.write("x".repeat(1 << 20))); response.once("drain", pour); }; pour(); },
  nonsense: (response) => response.end("<html>"),
  fail: (response) => { process.stderr.write("Traceback\\nValueError: the clock is stopped\\n"); response.writeHead(500).end("Internal Server Error"); },
};
http.createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const asked = body === "" ? {} : JSON.parse(body);
  switch (request.url) {
    case "/retrograde": return response.end(JSON.stringify({ token }));
    case "/": return response.end(JSON.stringify({ message: "Welcome to AppWorld Server!" }));
    case "/initialize": task = asked.task_id; count = 0; done = false; return out(response, { task_id: task });
    case "/execute": return asked.task_id === task ? cells[asked.code](response) : response.writeHead(500).end("Internal Server Error");
    case "/task_completed": return out(response, done);
    case "/evaluate": return out(response, { success: count === 2, num_tests: 4, passes: Array(Math.min(count * 2, 4)).fill({}), failures: [] });
  }
}).listen(Number(port), "127.0.0.1");
process.stdin.on("end", () => process.exit()).resume();
`;

function executable(name: string, text: string): string {
  const path = join(mkdtempSync(join(tmpdir(), "appworld-stub-")), name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

export const stubPython = (): string => executable("python", program);

/** Ends at once, as a Python without the package does. */
export const brokenPython = (): string =>
  executable(
    "python",
    "#!/bin/sh\necho 'Traceback (most recent call last):' >&2\necho \"ModuleNotFoundError: No module named 'appworld'\" >&2\nexit 1\n",
  );

/** A data folder with the files that this side reads. */
export function stubRoot(): string {
  const root = mkdtempSync(join(tmpdir(), "appworld-root-"));
  const data = join(root, "data");
  const write = (path: string, value: unknown) => {
    mkdirSync(join(data, path, ".."), { recursive: true });
    writeFileSync(join(data, path), typeof value === "string" ? value : JSON.stringify(value));
  };
  mkdirSync(join(data, "base_dbs"), { recursive: true });
  write("datasets/train.txt", "abc1234_1\nabc1234_2:easy\n\n");
  write("datasets/own.txt", "def5678_1\n");
  write("api_docs/standard/spotify.json", { login: { description: "Log in." } });
  const supervisor = { first_name: "Ada", last_name: "Test", email: "ada@example.com", phone_number: "1" };
  for (const id of ["abc1234_1", "abc1234_2", "def5678_1"]) {
    write(`tasks/${id}/specs.json`, { instruction: `Do ${id}.`, supervisor, datetime: "2023-05-18T12:00:00" });
    write(`tasks/${id}/ground_truth/metadata.json`, { difficulty: 2 });
  }
  return root;
}
