"""The types of swizzles, for type checkers: ``v.xy`` of a ``float3`` is a ``float2``.

``parts`` reads and stores swizzles. Checkers can't compute a type from a name, so the names are written out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

V2 = TypeVar("V2")
V3 = TypeVar("V3")
V4 = TypeVar("V4")

if TYPE_CHECKING:
    V = TypeVar("V")

    class _Swizzle(Generic[V]):
        def __get__(self, owner: object, kind: type) -> V: ...
        def __set__(self, owner: object, value: V) -> None: ...


class Swizzles(Generic[V2, V3, V4]):
    """The vectors of two, three and four components that swizzles of a vector give."""

    __slots__ = ()

    if TYPE_CHECKING:
        xx = xy = xz = xw = yx = yy = yz = yw = zx = zy = zz = zw = wx = wy = wz = ww = _Swizzle[V2]()
        rr = rg = rb = ra = gr = gg = gb = ga = br = bg = bb = ba = ar = ag = ab = aa = _Swizzle[V2]()
        xxx = xxy = xxz = xxw = xyx = xyy = xyz = xyw = xzx = xzy = xzz = xzw = xwx = xwy = xwz = _Swizzle[V3]()
        xww = yxx = yxy = yxz = yxw = yyx = yyy = yyz = yyw = yzx = yzy = yzz = yzw = ywx = ywy = _Swizzle[V3]()
        ywz = yww = zxx = zxy = zxz = zxw = zyx = zyy = zyz = zyw = zzx = zzy = zzz = zzw = zwx = _Swizzle[V3]()
        zwy = zwz = zww = wxx = wxy = wxz = wxw = wyx = wyy = wyz = wyw = wzx = wzy = wzz = wzw = _Swizzle[V3]()
        wwx = wwy = wwz = www = _Swizzle[V3]()
        rrr = rrg = rrb = rra = rgr = rgg = rgb = rga = rbr = rbg = rbb = rba = rar = rag = rab = _Swizzle[V3]()
        raa = grr = grg = grb = gra = ggr = ggg = ggb = gga = gbr = gbg = gbb = gba = gar = gag = _Swizzle[V3]()
        gab = gaa = brr = brg = brb = bra = bgr = bgg = bgb = bga = bbr = bbg = bbb = bba = bar = _Swizzle[V3]()
        bag = bab = baa = arr = arg = arb = ara = agr = agg = agb = aga = abr = abg = abb = aba = _Swizzle[V3]()
        aar = aag = aab = aaa = _Swizzle[V3]()
        xxxx = xxxy = xxxz = xxxw = xxyx = xxyy = xxyz = xxyw = xxzx = xxzy = xxzz = xxzw = _Swizzle[V4]()
        xxwx = xxwy = xxwz = xxww = xyxx = xyxy = xyxz = xyxw = xyyx = xyyy = xyyz = xyyw = _Swizzle[V4]()
        xyzx = xyzy = xyzz = xyzw = xywx = xywy = xywz = xyww = xzxx = xzxy = xzxz = xzxw = _Swizzle[V4]()
        xzyx = xzyy = xzyz = xzyw = xzzx = xzzy = xzzz = xzzw = xzwx = xzwy = xzwz = xzww = _Swizzle[V4]()
        xwxx = xwxy = xwxz = xwxw = xwyx = xwyy = xwyz = xwyw = xwzx = xwzy = xwzz = xwzw = _Swizzle[V4]()
        xwwx = xwwy = xwwz = xwww = yxxx = yxxy = yxxz = yxxw = yxyx = yxyy = yxyz = yxyw = _Swizzle[V4]()
        yxzx = yxzy = yxzz = yxzw = yxwx = yxwy = yxwz = yxww = yyxx = yyxy = yyxz = yyxw = _Swizzle[V4]()
        yyyx = yyyy = yyyz = yyyw = yyzx = yyzy = yyzz = yyzw = yywx = yywy = yywz = yyww = _Swizzle[V4]()
        yzxx = yzxy = yzxz = yzxw = yzyx = yzyy = yzyz = yzyw = yzzx = yzzy = yzzz = yzzw = _Swizzle[V4]()
        yzwx = yzwy = yzwz = yzww = ywxx = ywxy = ywxz = ywxw = ywyx = ywyy = ywyz = ywyw = _Swizzle[V4]()
        ywzx = ywzy = ywzz = ywzw = ywwx = ywwy = ywwz = ywww = zxxx = zxxy = zxxz = zxxw = _Swizzle[V4]()
        zxyx = zxyy = zxyz = zxyw = zxzx = zxzy = zxzz = zxzw = zxwx = zxwy = zxwz = zxww = _Swizzle[V4]()
        zyxx = zyxy = zyxz = zyxw = zyyx = zyyy = zyyz = zyyw = zyzx = zyzy = zyzz = zyzw = _Swizzle[V4]()
        zywx = zywy = zywz = zyww = zzxx = zzxy = zzxz = zzxw = zzyx = zzyy = zzyz = zzyw = _Swizzle[V4]()
        zzzx = zzzy = zzzz = zzzw = zzwx = zzwy = zzwz = zzww = zwxx = zwxy = zwxz = zwxw = _Swizzle[V4]()
        zwyx = zwyy = zwyz = zwyw = zwzx = zwzy = zwzz = zwzw = zwwx = zwwy = zwwz = zwww = _Swizzle[V4]()
        wxxx = wxxy = wxxz = wxxw = wxyx = wxyy = wxyz = wxyw = wxzx = wxzy = wxzz = wxzw = _Swizzle[V4]()
        wxwx = wxwy = wxwz = wxww = wyxx = wyxy = wyxz = wyxw = wyyx = wyyy = wyyz = wyyw = _Swizzle[V4]()
        wyzx = wyzy = wyzz = wyzw = wywx = wywy = wywz = wyww = wzxx = wzxy = wzxz = wzxw = _Swizzle[V4]()
        wzyx = wzyy = wzyz = wzyw = wzzx = wzzy = wzzz = wzzw = wzwx = wzwy = wzwz = wzww = _Swizzle[V4]()
        wwxx = wwxy = wwxz = wwxw = wwyx = wwyy = wwyz = wwyw = wwzx = wwzy = wwzz = wwzw = _Swizzle[V4]()
        wwwx = wwwy = wwwz = wwww = _Swizzle[V4]()
        rrrr = rrrg = rrrb = rrra = rrgr = rrgg = rrgb = rrga = rrbr = rrbg = rrbb = rrba = _Swizzle[V4]()
        rrar = rrag = rrab = rraa = rgrr = rgrg = rgrb = rgra = rggr = rggg = rggb = rgga = _Swizzle[V4]()
        rgbr = rgbg = rgbb = rgba = rgar = rgag = rgab = rgaa = rbrr = rbrg = rbrb = rbra = _Swizzle[V4]()
        rbgr = rbgg = rbgb = rbga = rbbr = rbbg = rbbb = rbba = rbar = rbag = rbab = rbaa = _Swizzle[V4]()
        rarr = rarg = rarb = rara = ragr = ragg = ragb = raga = rabr = rabg = rabb = raba = _Swizzle[V4]()
        raar = raag = raab = raaa = grrr = grrg = grrb = grra = grgr = grgg = grgb = grga = _Swizzle[V4]()
        grbr = grbg = grbb = grba = grar = grag = grab = graa = ggrr = ggrg = ggrb = ggra = _Swizzle[V4]()
        gggr = gggg = gggb = ggga = ggbr = ggbg = ggbb = ggba = ggar = ggag = ggab = ggaa = _Swizzle[V4]()
        gbrr = gbrg = gbrb = gbra = gbgr = gbgg = gbgb = gbga = gbbr = gbbg = gbbb = gbba = _Swizzle[V4]()
        gbar = gbag = gbab = gbaa = garr = garg = garb = gara = gagr = gagg = gagb = gaga = _Swizzle[V4]()
        gabr = gabg = gabb = gaba = gaar = gaag = gaab = gaaa = brrr = brrg = brrb = brra = _Swizzle[V4]()
        brgr = brgg = brgb = brga = brbr = brbg = brbb = brba = brar = brag = brab = braa = _Swizzle[V4]()
        bgrr = bgrg = bgrb = bgra = bggr = bggg = bggb = bgga = bgbr = bgbg = bgbb = bgba = _Swizzle[V4]()
        bgar = bgag = bgab = bgaa = bbrr = bbrg = bbrb = bbra = bbgr = bbgg = bbgb = bbga = _Swizzle[V4]()
        bbbr = bbbg = bbbb = bbba = bbar = bbag = bbab = bbaa = barr = barg = barb = bara = _Swizzle[V4]()
        bagr = bagg = bagb = baga = babr = babg = babb = baba = baar = baag = baab = baaa = _Swizzle[V4]()
        arrr = arrg = arrb = arra = argr = argg = argb = arga = arbr = arbg = arbb = arba = _Swizzle[V4]()
        arar = arag = arab = araa = agrr = agrg = agrb = agra = aggr = aggg = aggb = agga = _Swizzle[V4]()
        agbr = agbg = agbb = agba = agar = agag = agab = agaa = abrr = abrg = abrb = abra = _Swizzle[V4]()
        abgr = abgg = abgb = abga = abbr = abbg = abbb = abba = abar = abag = abab = abaa = _Swizzle[V4]()
        aarr = aarg = aarb = aara = aagr = aagg = aagb = aaga = aabr = aabg = aabb = aaba = _Swizzle[V4]()
        aaar = aaag = aaab = aaaa = _Swizzle[V4]()


__all__ = ["V2", "V3", "V4", "Swizzles"]
