//! The processor's description, as `show cpu` prints it.

#![forbid(unsafe_code)]

use std::fmt;
use std::fs;

/// Name, generation, features and clock of the processor.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Marketing name, as the processor tells it.
    pub model_name: String,
    /// Generation with family and model numbers.
    pub microarchitecture: String,
    /// Instruction-set extensions, in the order of the table in this file.
    pub flags: Vec<String>,
    /// Rate of the clock that time is measured with, in Hz.
    pub base_frequency_hz: f64,
}

impl Description {
    /// Describes the processor this runs on; `hz` is the measured rate of its clock.
    pub fn of_this_cpu(hz: f64) -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            model_name: field(&cpuinfo, "model name").unwrap_or("unknown").to_owned(),
            microarchitecture: microarchitecture(),
            flags: flags(&cpuinfo),
            base_frequency_hz: hz,
        }
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<26}{}", "Model name:", self.model_name)?;
        writeln!(f, "{:<26}{}", "Microarch model (family):", self.microarchitecture)?;
        write!(f, "{:<26}", "Flags:")?;
        for flag in &self.flags {
            write!(f, "{flag} ")?;
        }
        write!(f, "\n{:<26}{:.4} GHz", "Base frequency:", self.base_frequency_hz / 1e9)
    }
}

/// Value of the first line `name : value`.
fn field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim_end() == name).then(|| value.trim())
    })
}

#[cfg(target_arch = "x86_64")]
fn flags(_cpuinfo: &str) -> Vec<String> {
    let is_set = |flag: &&Flag| cpuid(flag.leaf)[flag.register] >> flag.bit & 1 == 1;
    FLAGS.iter().filter(is_set).map(|flag| flag.name.to_owned()).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn flags(cpuinfo: &str) -> Vec<String> {
    let flags = field(cpuinfo, "Features").unwrap_or_default();
    flags.split_whitespace().map(str::to_owned).collect()
}

#[cfg(target_arch = "x86_64")]
fn microarchitecture() -> String {
    let (family, model) = family_and_model(cpuid(1)[EAX]);
    let name = match (vendor().as_str(), family, model) {
        ("GenuineIntel", 6, 0x3f) => "Haswell",
        ("GenuineIntel", 6, 0x4f | 0x56) => "Broadwell",
        ("GenuineIntel", 6, 0x55) => "Skylake",
        ("GenuineIntel", 6, 0x6a | 0x6c) => "Ice Lake",
        ("GenuineIntel", 6, 0x8f) => "Sapphire Rapids",
        ("AuthenticAMD", 0x17, 0x00..=0x2f) => "Zen",
        ("AuthenticAMD", 0x17, 0x30..) => "Zen 2",
        ("AuthenticAMD", 0x19, 0x00..=0x0f | 0x20..=0x5f) => "Zen 3",
        ("AuthenticAMD", 0x19, _) => "Zen 4",
        ("AuthenticAMD", 0x1a, _) => "Zen 5",
        _ => "unknown",
    };
    format!("{name} (family {family:#04x} model {model:#04x})")
}

#[cfg(not(target_arch = "x86_64"))]
fn microarchitecture() -> String {
    "unknown".to_owned()
}

/// Display family and model from leaf 1, register EAX: the extended family counts from family 15
/// on, the extended model in families 6 and 15.
#[cfg(target_arch = "x86_64")]
fn family_and_model(signature: u32) -> (u32, u32) {
    let (base, low) = (signature >> 8 & 0xf, signature >> 4 & 0xf);
    let family = if base == 15 { base + (signature >> 20 & 0xff) } else { base };
    let model = if base == 6 || base == 15 { (signature >> 16 & 0xf) << 4 | low } else { low };
    (family, model)
}

#[cfg(target_arch = "x86_64")]
fn vendor() -> String {
    let [_, b, c, d] = cpuid(0);
    let bytes: Vec<u8> = [b, d, c].into_iter().flat_map(u32::to_le_bytes).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Registers EAX to EDX of a leaf (sub-leaf 0); zeros if the processor has no such leaf.
#[cfg(target_arch = "x86_64")]
fn cpuid(leaf: u32) -> [u32; 4] {
    use std::arch::x86_64::__cpuid_count;

    let highest = __cpuid_count(leaf & 0x8000_0000, 0).eax;
    if leaf > highest {
        return [0; 4];
    }
    let result = __cpuid_count(leaf, 0);
    [result.eax, result.ebx, result.ecx, result.edx]
}

#[cfg(target_arch = "x86_64")]
struct Flag {
    name: &'static str,
    leaf: u32,
    register: usize,
    bit: u32,
}

#[cfg(target_arch = "x86_64")]
const fn flag(name: &'static str, leaf: u32, register: usize, bit: u32) -> Flag {
    Flag { name, leaf, register, bit }
}

#[cfg(target_arch = "x86_64")]
const EAX: usize = 0;
#[cfg(target_arch = "x86_64")]
const EBX: usize = 1;
#[cfg(target_arch = "x86_64")]
const ECX: usize = 2;
#[cfg(target_arch = "x86_64")]
const EDX: usize = 3;

/// Extensions worth telling, in the order operators are used to.
#[cfg(target_arch = "x86_64")]
const FLAGS: &[Flag] = &[
    flag("sse3", 1, ECX, 0),
    flag("pclmulqdq", 1, ECX, 1),
    flag("ssse3", 1, ECX, 9),
    flag("sse41", 1, ECX, 19),
    flag("sse42", 1, ECX, 20),
    flag("avx", 1, ECX, 28),
    flag("rdrand", 1, ECX, 30),
    flag("avx2", 7, EBX, 5),
    flag("bmi2", 7, EBX, 8),
    flag("avx512f", 7, EBX, 16),
    flag("rdseed", 7, EBX, 18),
    flag("aes", 1, ECX, 25),
    flag("sha", 7, EBX, 29),
    flag("vaes", 7, ECX, 9),
    flag("vpclmulqdq", 7, ECX, 10),
    flag("avx512_vnni", 7, ECX, 11),
    flag("avx512_bitalg", 7, ECX, 12),
    flag("avx512_vpopcntdq", 7, ECX, 14),
    flag("movdiri", 7, ECX, 27),
    flag("movdir64b", 7, ECX, 28),
    flag("avx512_fp16", 7, EDX, 23),
    flag("fma", 1, ECX, 12),
    flag("movbe", 1, ECX, 22),
    flag("popcnt", 1, ECX, 23),
    flag("f16c", 1, ECX, 29),
    flag("bmi1", 7, EBX, 3),
    flag("lzcnt", 0x8000_0001, ECX, 5),
    flag("avx512dq", 7, EBX, 17),
    flag("avx512cd", 7, EBX, 28),
    flag("avx512bw", 7, EBX, 30),
    flag("avx512vl", 7, EBX, 31),
    flag("cmpxchg16b", 1, ECX, 13),
    flag("lahf_sahf", 0x8000_0001, ECX, 0),
    flag("osxsave", 1, ECX, 27),
    flag("invariant_tsc", 0x8000_0007, EDX, 8),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_the_one_clients_parse() {
        let description = Description {
            model_name: "Some Processor".to_owned(),
            microarchitecture: "unknown (family 0x06 model 0xcf)".to_owned(),
            flags: vec!["sse3".to_owned(), "avx".to_owned()],
            base_frequency_hz: 2_099_900_000.0,
        };

        let expected = "\
Model name:               Some Processor
Microarch model (family): unknown (family 0x06 model 0xcf)
Flags:                    sse3 avx \nBase frequency:           2.0999 GHz";
        assert_eq!(description.to_string(), expected);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn signature_is_decoded_with_extensions() {
        assert_eq!(family_and_model(0x000c_06f2), (6, 0xcf));
        assert_eq!(family_and_model(0x00a1_0f11), (0x19, 0x11));
        assert_eq!(family_and_model(0x0000_0543), (5, 4));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn flags_agree_with_what_the_language_detects() {
        use std::arch::is_x86_feature_detected as has;
        let found = Description::of_this_cpu(1e9).flags;
        let is_found = |name: &str| found.iter().any(|flag| flag == name);

        assert_eq!(is_found("sse42"), has!("sse4.2"));
        assert_eq!(is_found("popcnt"), has!("popcnt"));
        assert_eq!(is_found("rdrand"), has!("rdrand"));
        assert_eq!(is_found("lzcnt"), has!("lzcnt"));
        assert_eq!(is_found("cmpxchg16b"), has!("cmpxchg16b"));
    }
}
