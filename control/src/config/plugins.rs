//! `plugins { path P plugin dpdk_plugin.so { disable } default { disable } }`.

use super::stanza::{Error, Section, Stanza, block};
use crate::cli::Args;

/// What was said about a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Load it.
    Enable,
    /// Do not load it.
    Disable,
}

/// Features to load and where from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plugins {
    /// Folders to look for shared objects in, in order.
    pub paths: Vec<String>,
    /// For features that are not named.
    pub default: Option<Switch>,
    /// Names as written and what was said about them; the last one counts.
    pub named: Vec<(String, Switch)>,
}

impl Plugins {
    /// What was said about the feature `name` (`acl`): also under `acl_plugin.so`.
    pub fn switch(&self, name: &str) -> Option<Switch> {
        let is_it = |written: &str| {
            let written = written.strip_suffix(".so").unwrap_or(written);
            let written = written.strip_suffix("_plugin").unwrap_or(written);
            written.replace('_', "-") == name.replace('_', "-")
        };
        let said = self.named.iter().rev().find(|(written, _)| is_it(written));
        said.map(|(_, switch)| *switch).or(self.default)
    }

    pub(super) fn set_path(&mut self, stanza: &Stanza) -> Result<(), Error> {
        let path = stanza.args().value("path").map_err(|e| stanza.locate(e.into()))?;
        self.paths = vec![path];
        Ok(())
    }
}

impl Section for Plugins {
    fn word(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), Error> {
        match word {
            "path" => self.paths = vec![args.value(word)?],
            "add-path" => self.paths.push(args.value(word)?),
            "name-filter" | "vat-path" | "vat-name-filter" => drop(args.value::<String>(word)?),
            "default" => {
                if let Some(switch) = switch(&mut block(args, word)?)? {
                    self.default = Some(switch);
                }
            }
            "plugin" => {
                let name: String = args.value(word)?;
                match switch(&mut block(args, &name)?)? {
                    Some(switch) if name == "default" => self.default = Some(switch),
                    Some(switch) => self.named.push((name, switch)),
                    None => {}
                }
            }
            _ => return Err(Error::unknown(word)),
        }
        Ok(())
    }
}

fn switch(inside: &mut Args<'_>) -> Result<Option<Switch>, Error> {
    let mut switch = None;
    while let Some(word) = inside.word() {
        match word {
            "enable" => switch = Some(Switch::Enable),
            "disable" => switch = Some(Switch::Disable),
            "skip-version-check" => {}
            _ => return Err(Error::unknown(word)),
        }
    }
    Ok(switch)
}
