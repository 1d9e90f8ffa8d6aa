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
}

export interface BenchmarkSources {
  readonly arpo?: ArpoFile;
  readonly hub?: HubData;
  /** Taken if the user names none. The Hub's where authors ask that questions are not shared elsewhere in the clear. */
  readonly usual: SourceName;
}

export const sourceNames = ["arpo", "hub"] as const;
export type SourceName = (typeof sourceNames)[number];

const arpo = (folder: string, hex: string): ArpoFile => ({
  folder,
  digest: { algorithm: hex.length === 40 ? "git-sha1" : "sha256", hex },
});

const flashRag = (file: string, sha256?: string): HubData => ({
  repo: "RUC-NLPIR/FlashRAG_datasets",
  revision: "bcafb8dd07d453be3cbeeeb3f78be1841bddf92c",
  files: { [file]: sha256 },
  convert: converters.flashRag,
});

const subjects = [
  "algebra",
  "counting_and_probability",
  "geometry",
  "intermediate_algebra",
  "number_theory",
  "prealgebra",
  "precalculus",
];

/**
 * Where the questions of each benchmark are published. ARPO's files are samples of the data sets in the case of WebWalker, HotpotQA, 2Wiki, MuSiQue and
 * SimpleQA: only they give the paper's numbers. Those on the Hub are whole.
 */
export const sources: Readonly<Record<BenchmarkName, BenchmarkSources>> = {
  aime24: {
    arpo: arpo("aime24", "af2b8bd2aa911b6333ad0df32f3ca05c7ae8ed10f1731f4372c8ae26990bf7ac"),
    hub: {
      repo: "HuggingFaceH4/aime_2024",
      revision: "2fe88a2f1091d5048c0f36abc874fb997b3dd99a",
      files: { "data/train-00000-of-00001.parquet": "26139847601a5037c237d5928b195e7260ca8074cf4f264b794af42847f79ccf" },
      convert: converters.problem,
    },
    usual: "arpo",
  },
  aime25: {
    arpo: arpo("aime25", "b4e273c02d3e7fe1b74b59eae768fc8230bfb0f79539890cb56f4361caac0331"),
    hub: {
      repo: "math-ai/aime25",
      revision: "563bb8404243c5f09de6ec262f2db674fe5bce9b",
      files: { "test.jsonl": "b4e273c02d3e7fe1b74b59eae768fc8230bfb0f79539890cb56f4361caac0331" },
      convert: converters.problem,
    },
    usual: "arpo",
  },
  math500: {
    arpo: arpo("math500", "fba7f0faf5593e5c29028190115672e36fe4bed72f535cea8c71d393bd03ba0f"),
    hub: {
      repo: "HuggingFaceH4/MATH-500",
      revision: "6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be",
      files: { "test.jsonl": "35dc41080a3680858b27fa7e0533d2d547825316fc5dafe5d316f4ccc5a06132" },
      convert: converters.problem,
    },
    usual: "arpo",
  },
  gsm8k: {
    arpo: arpo("gsm8k", "9f098df7ff4522078d6ccec27a5c38a454790fdb51131bedfaa0e490070d5394"),
    hub: {
      repo: "openai/gsm8k",
      revision: "740312add88f781978c0658806c59bc2815b9866",
      files: { "main/test-00000-of-00001.parquet": "ee7b8da9e381df27b9e3f7758a159ab2bdaa4dbaa910546cbbc47e0cb44e4f59" },
      convert: converters.gsm8k,
    },
    usual: "arpo",
  },
  math: {
    arpo: arpo("math", "9ef3334841057f53caac5522332e38391d3fb33b"),
    hub: {
      repo: "EleutherAI/hendrycks_math",
      revision: "21a5633873b6a120296cce3e2df9d5550074f4a3",
      files: Object.fromEntries(subjects.map((subject) => [`${subject}/test-00000-of-00001.parquet`, undefined])),
      convert: converters.boxed,
    },
    usual: "arpo",
  },
  webwalker: {
    arpo: arpo("webwalker", "5aa737b433dfc1cfd882c4857c492490eba0cb7c990ab35c0f322c51c24db678"),
    hub: {
      repo: "callanwu/WebWalkerQA",
      revision: "main",
      files: { "data/main-00000-of-00001.jsonl": undefined },
      convert: converters.question,
    },
    usual: "arpo",
  },
  hotpotqa: {
    arpo: arpo("hotpotqa", "072c04637a2736f355e92ee77649d1de89112f873b21b97e50171ac33497ad98"),
    hub: flashRag("hotpotqa/dev.jsonl"),
    usual: "arpo",
  },
  "2wiki": {
    arpo: arpo("2wiki", "f92e028caf038c0fd861111ce811f12a50fc17324933b9b723d169913dfa9884"),
    hub: flashRag("2wikimultihopqa/dev.jsonl"),
    usual: "arpo",
  },
  musique: {
    arpo: arpo("musique", "d238f3c3b34347019bf84136eaca6fc34882d2263fbcd3dc352ad85eb80cf1dc"),
    hub: flashRag("musique/dev.jsonl"),
    usual: "arpo",
  },
  bamboogle: {
    arpo: arpo("bamboogle", "e37b9c512f27f76f1bab1922972a0d7d48af8ac08dbdc41de56dcae45e5148c7"),
    hub: flashRag("bamboogle/test.jsonl", "c9703dae6bb1ceb9e2df77be45da28cb12aa040d2f471507890a461296968f3f"),
    usual: "arpo",
  },
  gaia: {
    hub: {
      repo: "gaia-benchmark/GAIA",
      revision: "682dd723ee1e1697e00360edccf2366dc8418dd9",
      files: { "2023/validation/metadata.parquet": undefined },
      convert: converters.gaia,
      selection: selections.gaia,
    },
    usual: "hub",
  },
  hle: {
    hub: {
      repo: "cais/hle",
      revision: "5a81a4c7271a2a2a312b9a690f0c2fde837e4c29",
      files: { "data/test-00000-of-00001.parquet": "6d0ee0602e8aea6b159509577e884f48ecac7b8e3f6822a35f51335a446c726a" },
      convert: converters.hle,
      selection: selections.hle,
    },
    usual: "hub",
  },
  xbench: {
    hub: {
      repo: "xbench/DeepSearch",
      revision: "436bbed79aef5b19c857047650ab528be33c6680",
      files: { "DeepSearch.csv": "10bdb81321e3d919c052c2c9a7095868d8bc9036f719fb25d9223043aa28c118" },
      convert: converters.xbench,
    },
    usual: "hub",
  },
  simpleqa: {
    arpo: arpo("SimpleQA", "dcfc124134076e5eb49fa0960a0e00769eaf1d952f58314cac28b2cdbb708ecd"),
    usual: "arpo",
  },
};

/** ARPO's own files of benchmarks that are fetched from the Hub alone: such a file is recognised where the user has it. */
export const knownFiles: Readonly<Partial<Record<BenchmarkName, string>>> = {
  gaia: "4b631659cb2cd9957c865b0070958fc726c5705d1700c54e75c47359057959ca",
  hle: "da8a4a88feebeb412a7df2e67c79133c484c47889653c9934743236c42c9ee77",
  xbench: "70cac61a33f2dd1e8308cff011b718d203e680f3ce0c7fcf81a8958f5a2b0f3a",
};
