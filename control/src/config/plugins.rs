//! `plugins { path P plugin dpdk_plugin.so { disable } default { disable } }`.

use super::stanza::{Error, Section, Stanza, block};
use crate::cli::Args;

/// The setting of a feature.
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
    /// Plugins that may be of another version of the router.
    pub unchecked: Vec<String>,
}

impl Plugins {
    /// Switch of the feature `name` (`acl`), given also under `acl_plugin.so`; `None` without one.
    pub fn switch(&self, name: &str) -> Option<Switch> {
        let said = self.named.iter().rev().find(|(written, _)| is_same(written, name));
        said.map(|(_, switch)| *switch).or(self.default)
    }
    /// Names as written that are none of `known`.
    pub fn unknown(&self, known: &[String]) -> Vec<&str> {
        let named = self.named.iter().map(|(written, _)| written).chain(&self.unchecked);
        let is_unknown = |written: &&String| !known.iter().any(|name| is_same(written, name));
        let mut unknown: Vec<&str> = named.filter(is_unknown).map(String::as_str).collect();
        unknown.sort_unstable();
        unknown.dedup();
        unknown
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
                self.default = said(&mut block(args, word)?)?.switch.or(self.default);
            }
            "plugin" => {
                let name: String = args.value(word)?;
                let PluginBlock { switch, is_unchecked } = said(&mut block(args, &name)?)?;
                if is_unchecked {
                    self.unchecked.push(bare(&name).to_owned());
                }
                match switch {
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

/// Words in the block of a plugin.
struct PluginBlock {
    switch: Option<Switch>,
    is_unchecked: bool,
}

fn said(inside: &mut Args<'_>) -> Result<PluginBlock, Error> {
    let mut said = PluginBlock { switch: None, is_unchecked: false };
    while let Some(word) = inside.word() {
        match word {
            "enable" => said.switch = Some(Switch::Enable),
            "disable" => said.switch = Some(Switch::Disable),
            "skip-version-check" => said.is_unchecked = true,
            _ => return Err(Error::unknown(word)),
        }
    }
    Ok(said)
}

/// Whether two names are those of one plugin.
fn is_same(one: &str, other: &str) -> bool {
    bare(one).replace('_', "-") == bare(other).replace('_', "-")
}

/// The name of a plugin without what files have after it.
fn bare(written: &str) -> &str {
    let written = written.strip_suffix(".so").unwrap_or(written);
    written.strip_suffix("_plugin").unwrap_or(written)
}
