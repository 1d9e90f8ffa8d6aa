import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline/promises";
import { fileURLToPath } from "node:url";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"];
const applications = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/** Returns the browser that `CHROMIUM` names, else a Chromium or Chrome of this machine; undefined if there is none. */
export function browserProgram() {
  const { CHROMIUM, PATH = "" } = process.env;
  if (CHROMIUM !== undefined && CHROMIUM !== "") return existsSync(CHROMIUM) ? CHROMIUM : undefined;
  const onPath = PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  return [...onPath, ...applications].find((path) => existsSync(path));
}

/** True if a person at a terminal agrees, or a CI system runs the tests: its containers are there to be filled. Others learn how. */
async function mayInstall() {
  if (process.env.CI !== undefined && process.env.CI !== "" && process.env.CI !== "false") return true;
  if (process.stdin.isTTY !== true || process.stdout.isTTY !== true) {
    console.log(
      "No Chromium is found: the tests in a browser are skipped. CI=true installs Debian's, CHROMIUM names another one.",
    );
    return false;
  }
  const asking = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await asking.question("Install Debian's Chromium with apt-get, for the tests in a browser? [y/N] ");
  asking.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** Installs Debian's Chromium where this user may and apt is there, which are containers above all. Says what it does, and how it ended. */
async function installBrowser() {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get") || !(await mayInstall())) return;
  console.log("Installing Debian's Chromium for the tests in a browser (CHROMIUM=none skips that) …");
  const apt = (...args) =>
    spawnSync("apt-get", ["-qq", ...args], {
      stdio: "ignore",
      timeout: 180_000,
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    }).status === 0;
  const install = () => apt("install", "-y", "--no-install-recommends", "chromium");
  if (!install() && !(apt("update") && install())) console.log("Chromium could not be installed: these tests will be skipped.");
}

// Called as a program before the tests.
if (process.argv[1] === fileURLToPath(import.meta.url) && process.env.CHROMIUM === undefined && browserProgram() === undefined)
  await installBrowser();
