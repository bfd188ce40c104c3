//! Values that several stanzas use: sizes and lists of CPUs.

use std::fmt;
use std::str::FromStr;

/// Largest CPU number a list may name.
const MAX_CPU: u32 = 4095;

/// An amount of memory in bytes, written `4096`, `4K`, `64M`, `8G`, `1T` in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
            "" => 0,
            "k" | "kb" => 10,
            "m" | "mb" => 20,
            "g" | "gb" => 30,
            "t" | "tb" => 40,
            _ => return Err(()),
        };
        let number: u64 = digits.parse().map_err(|_| ())?;
        number.checked_mul(1 << shift).map(Self).ok_or(())
    }
}

/// CPU numbers, written `1,3-5`, in the order given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<_> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&all.join(","))
    }
}

impl FromStr for CpuList {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: u32 = first.parse().map_err(|_| ())?;
            let last: u32 = last.parse().map_err(|_| ())?;
            if first > last || last > MAX_CPU {
                return Err(());
            }
            for cpu in first..=last {
                if cpus.contains(&cpu) {
                    return Err(());
                }
                cpus.push(cpu);
            }
        }
        Ok(Self(cpus))
    }
}
