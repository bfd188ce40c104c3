//! `dpdk { … }` in startup.conf.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use control::cli::Args;
use control::config::{Error, Stanza};

use super::interface::{MAX_QUEUES, Wanted};

/// Packets of DPDK's pool when nothing else is said.
const PACKETS: u32 = 16_384;
/// Megabytes for DPDK without hugepages when nothing else is said.
const MEMORY: &str = "256";

/// The stanza.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Startup {
    /// It exists.
    pub is_there: bool,
    /// Interfaces to make.
    pub devices: Vec<Wanted>,
    /// Packets of the pool.
    pub packets: u32,
    /// Arguments for DPDK.
    args: Vec<String>,
    no_hugepages: bool,
    memory: Option<String>,
    telemetry: bool,
    library: Option<PathBuf>,
}

/// Reads the stanzas of this name.
///
/// # Errors
/// A word that is not known or a value that cannot be read: its line and the reason.
pub fn read(stanzas: &[Stanza]) -> Result<Startup, Error> {
    let mut startup = Startup { packets: PACKETS, ..Startup::default() };
    for stanza in stanzas.iter().filter(|stanza| stanza.word == "dpdk") {
        startup.is_there = true;
        let mut usual = Wanted::default();
        let mut args = stanza.args();
        while let Some(word) = args.word() {
            startup
                .word(word, &mut args, &mut usual)
                .map_err(|e| Error::new(format!("{e} in stanza 'dpdk' (line {})", stanza.line)))?;
        }
    }
    Ok(startup)
}

impl Startup {
    fn word(
        &mut self,
        word: &str,
        args: &mut Args<'_>,
        usual: &mut Wanted,
    ) -> Result<(), control::cli::Error> {
        let option = match word {
            "dev" | "vdev" => return self.device(word == "dev", args, usual),
            "no-hugepages" | "no-hugetlb" => {
                self.no_hugepages = true;
                return Ok(());
            }
            "telemetry" => {
                self.telemetry = true;
                return Ok(());
            }
            "no-pci" => {
                self.args.push("--no-pci".to_owned());
                return Ok(());
            }
            "socket-mem" => {
                self.memory = Some(args.value(word)?);
                return Ok(());
            }
            "num-mbufs" => {
                self.packets = args.value(word)?;
                return Ok(());
            }
            "library" => {
                self.library = Some(args.value::<String>(word)?.into());
                return Ok(());
            }
            "huge-dir" => "--huge-dir",
            "blacklist" => "--block",
            "iova-mode" => "--iova-mode",
            "log-level" => "--log-level",
            "max-simd-bitwidth" => "--force-max-simd-bitwidth",
            _ => return Err(control::cli::Error::new(format!("unknown word '{word}'"))),
        };
        let value: String = args.value(word)?;
        self.args.push(format!("{option}={value}"));
        Ok(())
    }
    fn device(
        &mut self,
        is_pci: bool,
        args: &mut Args<'_>,
        usual: &mut Wanted,
    ) -> Result<(), control::cli::Error> {
        let device: String = args.value(if is_pci { "dev" } else { "vdev" })?;
        let mut wanted = Wanted { device, ..usual.clone() };
        if let Some(mut block) = args.block()? {
            while let Some(word) = block.word() {
                let number =
                    |block: &mut Args<'_>, most: u16| -> Result<u16, control::cli::Error> {
                        let n: u16 = block.value(word)?;
                        if (1..=most).contains(&n) {
                            return Ok(n);
                        }
                        Err(control::cli::Error::new(format!(
                            "{word} must be 1 to {most}, not \
                            {n}"
                        )))
                    };
                match word {
                    "name" => wanted.name = Some(block.value(word)?),
                    "num-rx-queues" => wanted.queues.0 = number(&mut block, MAX_QUEUES)?,
                    "num-tx-queues" => wanted.queues.1 = number(&mut block, MAX_QUEUES)?,
                    "num-rx-desc" => wanted.rings.0 = number(&mut block, u16::MAX)?,
                    "num-tx-desc" => wanted.rings.1 = number(&mut block, u16::MAX)?,
                    "devargs" => {
                        let options: String = block.value(word)?;
                        wanted.device = format!("{},{options}", wanted.device);
                    }
                    _ => {
                        let why = format!("unknown word '{word}' for {}", wanted.device);
                        return Err(control::cli::Error::new(why));
                    }
                }
            }
        }
        if is_pci && wanted.device == "default" {
            *usual = Wanted { device: String::new(), ..wanted };
        } else {
            if is_pci {
                // Only these devices are DPDK's.
                self.args.push(format!("--allow={}", wanted.device));
            }
            self.devices.push(wanted);
        }
        Ok(())
    }
    /// Folders where the shared object may be.
    pub fn folders(&self) -> Vec<PathBuf> {
        if let Some(folder) = &self.library {
            return vec![folder.clone()];
        }
        let beside = std::env::current_exe().ok();
        let beside = beside.iter().flat_map(|exe| exe.ancestors().skip(1).take(2));
        let beside = beside.map(|folder| folder.to_owned());
        beside.chain(["/usr/lib/ferrovia", "/usr/local/lib/ferrovia"].map(PathBuf::from)).collect()
    }
    /// Arguments that DPDK is started with.
    ///
    /// # Errors
    /// The CPUs of the process are unknown.
    pub fn arguments(&self) -> Result<Vec<String>, String> {
        let cpus = infra::cpu::allowed().map_err(|e| control::cli::io_text(&e))?;
        let cpus = cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let mut args = vec!["ferrovia".to_owned(), format!("--lcores=0@({cpus})")];
        // Nothing of it is in files that routers beside each other share.
        if self.no_hugepages {
            args.extend([
                "--no-shconf".to_owned(),
                format!("--file-prefix=ferrovia-{}", std::process::id()),
            ]);
        } else {
            args.push("--in-memory".to_owned());
        }
        if !self.telemetry {
            args.push("--no-telemetry".to_owned());
        }
        if self.no_hugepages {
            args.push("--no-huge".to_owned());
            let memory = self.memory.as_deref().unwrap_or(MEMORY);
            let total: Result<Vec<u32>, _> = memory.split(',').map(str::parse).collect();
            let total = total.map_err(|_| format!("socket-mem {memory}: not megabytes"))?;
            args.extend(["-m".to_owned(), total.iter().sum::<u32>().to_string()]);
        } else if let Some(memory) = &self.memory {
            args.push(format!("--socket-mem={memory}"));
        }
        args.extend(self.args.iter().cloned());
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use control::config::Config;

    use super::*;

    fn parse(text: &str) -> Result<Startup, String> {
        let config = Config::parse(text, &[]).map_err(|e| e.to_string())?;
        read(&config.others).map_err(|e| e.to_string())
    }

    #[test]
    fn devices_have_the_options_of_default_unless_they_say_others() {
        let startup = parse(
            "dpdk { no-hugepages socket-mem 64,32 dev default { num-rx-queues 2 num-rx-desc 512 } \
             dev 0000:02:00.0 { name wan num-rx-queues 4 devargs a=1 } \
             vdev net_null0,size=64 no-pci blacklist 0000:03:00.0 num-mbufs 4096 }",
        );
        let startup = startup.unwrap();
        let device = |device: &str, name: Option<&str>, queues| Wanted {
            device: device.to_owned(),
            name: name.map(str::to_owned),
            queues: (queues, 0),
            rings: (512, 0),
        };
        assert_eq!(
            startup.devices,
            [device("0000:02:00.0,a=1", Some("wan"), 4), device("net_null0,size=64", None, 2),]
        );
        assert_eq!((startup.packets, startup.is_there), (4096, true));
        let args = startup.arguments().unwrap();
        for arg in ["--no-huge", "-m", "96", "--no-pci", "--block=0000:03:00.0", "--no-shconf"] {
            assert!(args.iter().any(|a| a == arg), "{arg}: {args:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (text, why) in [
            ("dpdk { no-huge }", "unknown word 'no-huge' in stanza 'dpdk' (line 1)"),
            (
                "dpdk { dev 0000:02:00.0 { queues 1 } }",
                "unknown word 'queues' in stanza 'dpdk' (line 1)",
            ),
            (
                "dpdk { vdev net_null0 { num-rx-queues 65 } }",
                "num-rx-queues must be 1 to 64, not 65 in stanza 'dpdk' (line 1)",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), why);
        }
        assert_eq!(
            parse("unix { nodaemon }").unwrap(),
            Startup { packets: PACKETS, ..Startup::default() }
        );
    }
}
