//! Instruction-set levels for which hot code is compiled, best of which is chosen at start.

#![forbid(unsafe_code)]

use std::fmt;

/// One level; the names are those of `show node` and `node { default { variant … } }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Baseline of the architecture, which every processor has.
    Default,
    /// AVX2, BMI1, BMI2, FMA, LZCNT, MOVBE.
    Hsw,
    /// `Hsw` and AVX-512 F, BW, CD, DQ, VL.
    Skx,
    /// `Skx` and AVX-512 VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ, VAES, VPCLMULQDQ, GFNI.
    Icl,
}

impl Variant {
    /// All levels, lowest priority first.
    pub const ALL: [Self; 4] = [Self::Default, Self::Hsw, Self::Skx, Self::Icl];

    /// Name in configuration and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Hsw => "hsw",
            Self::Skx => "skx",
            Self::Icl => "icl",
        }
    }

    /// Name of the level for operators.
    pub fn description(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Hsw => "Intel Haswell",
            Self::Skx => "Intel Skylake (server) / Cascade Lake",
            Self::Icl => "Intel Ice Lake",
        }
    }

    /// Among supported levels the highest priority wins, unless another is configured.
    pub fn priority(self) -> u32 {
        match self {
            Self::Default => 0,
            Self::Hsw => 50,
            Self::Skx => 100,
            Self::Icl => 200,
        }
    }

    /// The level of this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|variant| variant.name() == name)
    }

    /// The supported level of the highest priority.
    pub fn best() -> Self {
        let supported = Self::ALL.into_iter().filter(|variant| variant.is_supported());
        supported.max_by_key(|variant| variant.priority()).unwrap_or(Self::Default)
    }

    /// Whether this processor, with the state the operating system saves, can run the level.
    #[cfg(target_arch = "x86_64")]
    pub fn is_supported(self) -> bool {
        use std::arch::is_x86_feature_detected as has;
        match self {
            Self::Default => true,
            Self::Hsw => {
                has!("avx2")
                    && has!("bmi1")
                    && has!("bmi2")
                    && has!("fma")
                    && has!("lzcnt")
                    && has!("movbe")
            }
            Self::Skx => {
                Self::Hsw.is_supported()
                    && has!("avx512f")
                    && has!("avx512bw")
                    && has!("avx512cd")
                    && has!("avx512dq")
                    && has!("avx512vl")
            }
            Self::Icl => {
                Self::Skx.is_supported()
                    && has!("avx512vbmi")
                    && has!("avx512vbmi2")
                    && has!("avx512vnni")
                    && has!("avx512bitalg")
                    && has!("avx512vpopcntdq")
                    && has!("vaes")
                    && has!("vpclmulqdq")
                    && has!("gfni")
            }
        }
    }

    /// Whether this processor can run the level.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn is_supported(self) -> bool {
        self == Self::Default
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for variant in Variant::ALL {
            assert_eq!(Variant::from_name(variant.name()), Some(variant));
        }
        assert_eq!(Variant::from_name("znver9"), None);
    }

    #[test]
    fn best_is_supported_and_nothing_supported_beats_it() {
        let best = Variant::best();
        assert!(best.is_supported());
        for variant in Variant::ALL {
            assert!(!variant.is_supported() || variant.priority() <= best.priority());
        }
    }
}
