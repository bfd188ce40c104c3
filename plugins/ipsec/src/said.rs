//! Trace records of encrypted and decrypted packets.

use net::prelude::*;

use super::sa::Sa;

/// Trace record of an encrypted or decrypted packet.
pub struct Said {
    is_ah: bool,
    sa: u32,
    spi: u32,
    number: u64,
}

impl Said {
    pub fn of(index: u32, sa: &Sa, number: u64) -> Self {
        Self { is_ah: sa.is_ah(), sa: index, spi: sa.config.spi, number }
    }
}

impl Record for Said {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_ah, sa, spi, number } = self;
        let protocol = if *is_ah { "ah" } else { "esp" };
        write!(f, "  {protocol}: sa-index {sa} spi {spi} (0x{spi:08x}) seq {number}")
    }
}
