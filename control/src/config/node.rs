//! `node { default { variant icl 100 } ip4-lookup { variant skx } }`.

use super::stanza::{Error, Section, block};
use crate::cli::Args;

/// The variant of node functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// For every node that is not named.
    pub default: Option<Variant>,
    /// For single nodes, by node name.
    pub named: Vec<(String, Variant)>,
}

/// A CPU variant and how much it is preferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// `hsw`, `skx`, `icl`, …
    pub name: String,
    /// Higher wins; `None` means always.
    pub priority: Option<i32>,
}

impl Section for Nodes {
    fn word(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), Error> {
        let mut inside = block(args, word)?;
        while let Some(key) = inside.word() {
            if key != "variant" {
                return Err(Error::unknown(key));
            }
            let variant = Variant { name: inside.value(key)?, priority: inside.optional() };
            match word {
                "default" => self.default = Some(variant),
                name => self.named.push((name.to_owned(), variant)),
            }
        }
        Ok(())
    }
}
