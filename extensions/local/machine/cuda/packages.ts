import type { Wheel } from "../../../../src/hub/wheels.ts";

/** A wheel with libraries of CUDA. */
export interface CudaWheel extends Wheel {
  readonly platform: string;
  readonly bytes: number;
  /** Its folder of libraries, and their sizes by name. */
  readonly folder: string;
  readonly libraries: Readonly<Record<string, number>>;
}

/** The version of ONNX Runtime that the provider belongs to: its library and the provider's share an interface of their own. */
export const cudaRuntime = "1.30.0";
/** The first driver of CUDA 13, as `cuDriverGetVersion` and as NVIDIA numbers it. */
export const cudaDriver = { cuda: 13000, driver: 580 } as const;

/**
 * The provider as Microsoft builds it, and the libraries of NVIDIA's that it needs (`readelf -d`, and cuDNN, which it opens itself), in the order in
 * which they are loaded. cuFFT and NVRTC, for operators that no graph of ours has, are left out.
 */
export const cudaWheels: readonly CudaWheel[] = [
  {
    name: "nvidia-cuda-runtime",
    version: "13.5.37",
    sha256: "df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d",
    platform: "manylinux2014_x86_64",
    bytes: 2_504_024,
    folder: "nvidia/cu13/lib",
    libraries: { "libcudart.so.13": 806_720 },
  },
  {
    name: "nvidia-cublas",
    version: "13.1.0.3",
    sha256: "ee8722c1f0145ab246bccb9e452153b5e0515fd094c3678df50b2a0888b8b171",
    platform: "manylinux_2_27_x86_64",
    bytes: 423_133_236,
    folder: "nvidia/cu13/lib",
    libraries: { "libcublasLt.so.13": 541_595_600, "libcublas.so.13": 54_177_976 },
  },
  {
    name: "nvidia-curand",
    version: "10.4.5.25",
    sha256: "22bb226a857e5888fe6b54ae465fc4371296bcff13a35f79e19691bcf454f529",
    platform: "manylinux_2_27_x86_64",
    bytes: 77_113_015,
    folder: "nvidia/cu13/lib",
    libraries: { "libcurand.so.10": 104_860_296 },
  },
  {
    name: "nvidia-cudnn-cu13",
    version: "9.19.0.56",
    sha256: "d20e1734305e9d68889a96e3f35094d733ff1f83932ebe462753973e53a572bf",
    platform: "manylinux_2_27_x86_64",
    bytes: 366_066_321,
    folder: "nvidia/cudnn/lib",
    libraries: {
      "libcudnn_graph.so.9": 4_451_728,
      "libcudnn_ops.so.9": 39_855_888,
      "libcudnn_cnn.so.9": 4_203_904,
      "libcudnn_adv.so.9": 109_169_104,
      "libcudnn_heuristic.so.9": 60_822_040,
      "libcudnn_engines_precompiled.so.9": 245_391_920,
      "libcudnn_engines_runtime_compiled.so.9": 29_386_400,
      "libcudnn.so.9": 129_240,
    },
  },
  {
    name: "onnxruntime-gpu",
    version: cudaRuntime,
    sha256: "6acc0f4b3d5ac5f2984432faa59dd8fcce6775f8b43a7140afa0f322c7a703b1",
    platform: "manylinux_2_28_x86_64",
    python: "3.12",
    bytes: 246_685_715,
    folder: "onnxruntime/capi",
    libraries: { "libonnxruntime_providers_shared.so": 14_632, "libonnxruntime_providers_cuda.so": 272_049_904 },
  },
];
