//! Kinds of processors as types: proof, inside code compiled for one, that it runs on one.

use super::Variant;

/// A kind of processor that hot code is compiled for. The code is generic over it, so that each
/// kind gets a copy of the whole loop. A value proves that this processor is of the kind.
pub trait Cpu: Copy + 'static {
    /// Whether it has AVX-512 F, BW, CD, DQ and VL.
    const HAS_AVX512: bool;
    /// The level of code for it.
    const VARIANT: Variant;
    /// Mark.
    ///
    /// # Safety
    /// This processor, with the state that the operating system saves, is of the kind: see
    /// [`Variant::is_supported`](super::Variant::is_supported).
    unsafe fn assume() -> Self;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident, $variant:ident, $has_avx512:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(());
        impl Cpu for $name {
            const HAS_AVX512: bool = $has_avx512;
            const VARIANT: Variant = Variant::$variant;
            // SAFETY: the caller keeps the contract; making the mark does nothing.
            #[inline(always)]
            unsafe fn assume() -> Self {
                Self(())
            }
        }
    )*};
}

kinds! {
    /// Any processor of the architecture.
    Baseline, Default, false;
    /// With AVX2.
    Hsw, Hsw, false;
    /// With the first AVX-512 of servers.
    Skx, Skx, true;
    /// With AVX-512 for bytes and bits too.
    Icl, Icl, true;
}

impl Baseline {
    /// The mark that is true everywhere.
    pub const fn everywhere() -> Self {
        Self(())
    }
}
