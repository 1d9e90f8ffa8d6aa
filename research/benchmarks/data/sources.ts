import type { BenchmarkName } from "../table.ts";
import { type ConvertRecord, converters } from "./convert.ts";
import { selections } from "./selections.ts";

/** The commit of ARPO's repository whose evaluation files are used. */
export const arpoCommit = "e257337d1f105ba685057cb662c75e509d1c7b34";
/** Each file is under `NAME/test.jsonl` there. */
export const arpoAddress = `https://raw.githubusercontent.com/dongguanting/ARPO/${arpoCommit}/evaluation/data`;

export interface Digest {
  /** git-sha1: of the file as a git blob. */
  readonly algorithm: "sha256" | "git-sha1";
  readonly hex: string;
}

/** The file that ARPO's evaluation reads. */
export interface ArpoFile {
  /** Its folder in the repository. */
  readonly folder: string;
  readonly digest: Digest;
}

/** A data set on the Hugging Face Hub, at a commit. */
export interface HubData {
  readonly repo: string;
  readonly revision: string;
  /** The SHA-256 of each file where it is known. Others are verified by the listing of the commit. */
  readonly files: Readonly<Record<string, string | undefined>>;
  /** Makes questions of the published records. */
  readonly convert: ConvertRecord;
  /** The questions of ARPO's evaluation among them. Default all. */
  readonly selection?: string;
  /** The SHA-256 of ARPO's own file, which is recognised where the user has it. */
  readonly known: string;
}

const arpo = (folder: string, hex: string): ArpoFile => ({
  folder,
  digest: { algorithm: hex.length === 40 ? "git-sha1" : "sha256", hex },
});

/**
 * Where the questions of each benchmark are published. ARPO's files give the paper's numbers: those of WebWalker, HotpotQA, 2Wiki, MuSiQue and
 * SimpleQA are samples of the data sets. They come from the Hub where authors ask that questions are not shared elsewhere in the clear.
 */
export const sources: Readonly<Record<BenchmarkName, ArpoFile | HubData>> = {
  aime24: arpo("aime24", "af2b8bd2aa911b6333ad0df32f3ca05c7ae8ed10f1731f4372c8ae26990bf7ac"),
  aime25: arpo("aime25", "b4e273c02d3e7fe1b74b59eae768fc8230bfb0f79539890cb56f4361caac0331"),
  math500: arpo("math500", "fba7f0faf5593e5c29028190115672e36fe4bed72f535cea8c71d393bd03ba0f"),
  gsm8k: arpo("gsm8k", "9f098df7ff4522078d6ccec27a5c38a454790fdb51131bedfaa0e490070d5394"),
  math: arpo("math", "9ef3334841057f53caac5522332e38391d3fb33b"),
  webwalker: arpo("webwalker", "5aa737b433dfc1cfd882c4857c492490eba0cb7c990ab35c0f322c51c24db678"),
  hotpotqa: arpo("hotpotqa", "072c04637a2736f355e92ee77649d1de89112f873b21b97e50171ac33497ad98"),
  "2wiki": arpo("2wiki", "f92e028caf038c0fd861111ce811f12a50fc17324933b9b723d169913dfa9884"),
  musique: arpo("musique", "d238f3c3b34347019bf84136eaca6fc34882d2263fbcd3dc352ad85eb80cf1dc"),
  bamboogle: arpo("bamboogle", "e37b9c512f27f76f1bab1922972a0d7d48af8ac08dbdc41de56dcae45e5148c7"),
  simpleqa: arpo("SimpleQA", "dcfc124134076e5eb49fa0960a0e00769eaf1d952f58314cac28b2cdbb708ecd"),
  gaia: {
    repo: "gaia-benchmark/GAIA",
    revision: "682dd723ee1e1697e00360edccf2366dc8418dd9",
    files: { "2023/validation/metadata.parquet": undefined },
    convert: converters.gaia,
    selection: selections.gaia,
    known: "4b631659cb2cd9957c865b0070958fc726c5705d1700c54e75c47359057959ca",
  },
  hle: {
    repo: "cais/hle",
    revision: "5a81a4c7271a2a2a312b9a690f0c2fde837e4c29",
    files: { "data/test-00000-of-00001.parquet": "6d0ee0602e8aea6b159509577e884f48ecac7b8e3f6822a35f51335a446c726a" },
    convert: converters.hle,
    selection: selections.hle,
    known: "da8a4a88feebeb412a7df2e67c79133c484c47889653c9934743236c42c9ee77",
  },
  xbench: {
    repo: "xbench/DeepSearch",
    revision: "436bbed79aef5b19c857047650ab528be33c6680",
    files: { "DeepSearch.csv": "10bdb81321e3d919c052c2c9a7095868d8bc9036f719fb25d9223043aa28c118" },
    convert: converters.xbench,
    known: "70cac61a33f2dd1e8308cff011b718d203e680f3ce0c7fcf81a8958f5a2b0f3a",
  },
};
