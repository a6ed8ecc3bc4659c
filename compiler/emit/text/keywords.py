"""List names that a user's identifier may not have in Slang.

Each was tried as a parameter, local, field, struct and function.

Words reserved by target languages (GLSL, HLSL, Metal, WGSL, CUDA, C++) are not here: Slang renames those itself.
"""

from __future__ import annotations

from typing import Final

_KEYWORDS: Final = """
    Differential This __init __subscript alignof as break bwd_diff case catch class const continue countof dadd
    default defer discard do dyn dzero each else enum expand export extension extern false for func functype
    fwd_diff groupshared if import in inout interface internal is let module namespace new no_diff nointerpolation
    none nullptr operator out precise private property public return sizeof some spirv_asm static struct switch this
    throw throws true try typealias typedef typename uniform using var void where while yield
"""

_TYPES: Final = """
    Access AddressSpace AppendStructuredBuffer ApplyForBwdFuncType Array Atomic AtomicAdd BFloat16
    BindlessDescriptorOptions BorrowInOutParam BorrowInParam BuiltInTriangleIntersectionAttributes
    BwdCallableFuncType BwdDiffFuncType ByteAddressBuffer CDataLayout Conditional ConstBufferPointer ConstantBuffer
    ConsumeStructuredBuffer CoopMat CoopMatClampMode CoopMatMatrixLayout CoopMatMatrixUse CoopVec
    CoopVecComponentType CoopVecMatrixLayout DefaultDataLayout DefaultPushConstantDataLayout DepthTexture
    DescriptorAccess DescriptorHandle DescriptorKind DifferentialPair DifferentialPtrPair DynamicResourceTypeInfo
    FloatE4M3 FloatE5M2 FwdDiffFuncType GLSLShaderStorageBuffer HitObject IArithmetic IArithmeticAtomicable IArray
    IAtomicable IBackwardDifferentiable IBitAtomicable IBufferDataLayout IBwdCallable IComparable ICoopElement
    IDefaultInitializable IDifferentiable IDifferentiableArithmetic IDifferentiableFunc IDifferentiableMutatingFunc
    IDifferentiablePtrType IFloat IFloatingPointCoopElement IForwardDifferentiable IFunc IInteger ILogical
    IMutatingFunc IOpaqueDescriptor IPhysicalBuffer IRWArray IRWPhysicalBuffer IRangedValue ITexelElement
    ImmutablePtr InputPatch LayoutPtr LineStream MemoryOrder MemoryScope NativeRef NativeString NullDifferential
    NullPtr Optional OutParam OutputIndices OutputPatch OutputPrimitives OutputVertices ParameterBlock PointStream
    Ptr RWStructuredBuffer RWTexture2D RayDesc RayQuery RaytracingAccelerationStructure Ref RefParam RematFuncType
    Sampler Sampler2D SamplerComparisonState SamplerState ScalarDataLayout SideEffectBehavior
    SlangAtomicOperationInfo Std140DataLayout Std430DataLayout String StructuredBuffer SubpassInput SubpassInputMS
    Texture2D TextureBuffer TextureFootprint TextureFootprint2D TextureFootprint3D This TriangleStream Tuple
    UntypedResourceHandle UntypedSamplerHandle float16_t float32_t float64_t int16_t int32_t int64_t int8_t matrix
    min16float min16int min16uint string uint16_t uint32_t uint64_t uint8_t vector
"""

_FUNCTIONS: Final = """
    abort abs acos acosh all and any asDynamicUniform asdouble asfloat asfloat16 asin asinh asint asint16 asuint
    asuint16 atan atan2 atanh beginInvocationInterlock bit_cast bitfieldExtract bitfieldInsert bwd_diff ceil clamp
    clip clock2x32ARB clockARB concat coopVecLoad coopVecLoadCoherent coopVecLoadGroupshared coopVecMatMul
    coopVecMatMulAdd coopVecMatMulAddPacked coopVecMatMulPacked coopVecOuterProductAccumulate
    coopVecReduceSumAccumulate copysign copysign_double copysign_float copysign_half cos cosh cospi countbits
    createDynamicObject cross cudaBlockDim cudaBlockIdx cudaThreadIdx debugBreak defaultGetDescriptorFromHandle
    degrees detach determinant diffPair distance divide dot dot2add dot4add_i8packed dot4add_u8packed
    enableVMMDeviceScopeCapabilityIfNeeded endInvocationInterlock exp exp10 exp2 f16tof32 f32tof16 f32tof16_ fabs
    faceforward fdim firstbithigh firstbitlow floatCast floor fma fmax fmax3 fmedian3 fmin fmin3 fmod frac fract
    frexp fwd_diff fwidth fwidth_coarse fwidth_fine getDescriptorFromHandle getRealtimeClock getRealtimeClockLow
    getStringHash isfinite isinf isnan ldexp length lerp lit loadAligned loadCoherent log log10 log2 mad
    makeArrayFromElement makeTuple max max3 median3 min min3 modf msad4 mul nextafter nonuniform normalize or
    packHalf2x16 packInt4x8 packInt4x8Clamp packSnorm2x16 packSnorm4x8 packUint4x8 packUint4x8Clamp packUnorm2x16
    packUnorm4x8 pack_clamp_s8 pack_clamp_u8 pack_s8 pack_u8 pow powr printf radians rcp reflect refract reinterpret
    reversebits rint round rsqrt sa saturate saturated_cooperation saturated_cooperation_using select
    shader_subgroup_preamble sign sin sincos sinh sinpi slangad smoothstep sqrt static_assert step storeAligned
    storeCoherent syncTorchCudaStream tan tanh tanpi transpose trunc unmodified unpackHalf2x16ToFloat
    unpackHalf2x16ToHalf unpackInt4x8ToInt16 unpackInt4x8ToInt32 unpackSnorm2x16ToFloat unpackSnorm2x16ToHalf
    unpackSnorm4x8ToFloat unpackSnorm4x8ToHalf unpackUint4x8ToUint16 unpackUint4x8ToUint32 unpackUnorm2x16ToFloat
    unpackUnorm2x16ToHalf unpackUnorm4x8ToFloat unpackUnorm4x8ToHalf unpack_s8s16 unpack_s8s32 unpack_u8u16
    unpack_u8u32 unused updateDiff updatePair updatePrimal workgroupUniformLoad
"""

_SCALARS: Final = ("bool", "int", "uint", "half", "float", "double")
_SHAPED: Final = [
    *_SCALARS,
    *(f"{scalar}{n}" for scalar in _SCALARS for n in range(1, 5)),
    *(f"{scalar}{rows}x{columns}" for scalar in _SCALARS for rows in range(1, 5) for columns in range(1, 5)),
]

_OWN: Final = "sa slangad this any detach diffPair bwd_diff fwd_diff"
"""The namespace and module of slangad's library, the object in a method, and builtins the emitter calls itself."""

WORDS: Final = frozenset([*f"{_KEYWORDS}{_TYPES}{_OWN}".split(), *_SHAPED])
"""Names that no identifier may have."""

BUILTIN_FUNCTIONS: Final = frozenset(_FUNCTIONS.split())
"""Names that no function may have, and no local of a function that calls the builtin."""
