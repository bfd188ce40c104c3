//! Variables of the command line: `define`, `undefine`, `show macro`.
//!
//! `$name` and `$(name)` in a command stand for what was defined; a `-` ends a name without
//! brackets. What is not defined stays as it is. Values may name others.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use super::{Cli, Command, Error, Output};

/// Most rounds of values that lead to other values, so that circles end.
const MOST_ROUNDS: usize = 8;
/// Longest a command may become; what would be longer stays as it is.
const MOST_BYTES: usize = 1024 * 1024;

/// Define a variable: $name in a command is replaced by its value.
#[derive(Command)]
#[command("define")]
struct Define {
    /// variable name: letters, digits, `_` and `-`
    #[positional]
    variable_name: String,
    /// value
    #[rest]
    value: Option<String>,
}

/// Undefine a variable.
#[derive(Command)]
#[command("undefine")]
struct Undefine {
    /// name
    #[positional]
    variable_name: String,
}

/// Show variables.
#[derive(Command)]
#[command("show macro")]
struct Show {
    /// values as defined, without expanding variables in them
    #[alias("noeval")]
    noevaluate: bool,
}

/// All variables.
#[derive(Default)]
pub(super) struct Macros(RefCell<BTreeMap<String, String>>);

fn write_table(all: &BTreeMap<String, String>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    all.iter().try_for_each(|(name, value)| writeln!(f, "{name:<20} {value}"))
}

impl Macros {
    /// `line` with variables replaced by their values.
    pub fn expand<'a>(&self, line: &'a str) -> Cow<'a, str> {
        let mut line = Cow::Borrowed(line);
        for _ in 0..MOST_ROUNDS {
            match self.round(&line) {
                Some(next) => line = Cow::Owned(next),
                None => break,
            }
        }
        line
    }

    /// One replacement of each variable, if there is one.
    fn round(&self, line: &str) -> Option<String> {
        let known = self.0.borrow();
        if known.is_empty() || !line.contains('$') {
            return None;
        }
        let (mut out, mut rest, mut found) = (String::new(), line, false);
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let in_brackets = after.strip_prefix('(').and_then(|a| a.split_once(')'));
            let (name, behind) = in_brackets.unwrap_or_else(|| {
                let end = after.find(|c| c == '-' || !is_part(c)).unwrap_or(after.len());
                after.split_at(end)
            });
            match known.get(name) {
                Some(value) => {
                    if out.len() + value.len() + behind.len() > MOST_BYTES {
                        return None;
                    }
                    out.push_str(value);
                    rest = behind;
                    found = true;
                }
                None => {
                    out.push('$');
                    rest = after;
                }
            }
        }
        out.push_str(rest);
        found.then_some(out)
    }
}

/// True for what names are made of.
fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

pub(super) fn register<C: 'static>(cli: &mut Cli<C>) {
    let macros = Rc::clone(&cli.macros);
    cli.values("variable-name", move |_| macros.0.borrow().keys().cloned().collect());
    let macros = Rc::clone(&cli.macros);
    cli.command(move |_, Define { variable_name, value }: Define| {
        if !variable_name.chars().all(is_part) {
            return Err(Error::new(format!("invalid variable name `{variable_name}'")));
        }
        macros.0.borrow_mut().insert(variable_name, value.unwrap_or_default());
        Ok(())
    });
    let macros = Rc::clone(&cli.macros);
    cli.command(move |_, Undefine { variable_name }: Undefine| {
        let known = macros.0.borrow_mut().remove(&variable_name);
        known.map(drop).ok_or_else(|| Error::new(format!("unknown variable `{variable_name}'")))
    });
    let macros = Rc::clone(&cli.macros);
    cli.command(move |_, show: Show| {
        let known = macros.0.borrow().clone();
        let shown = |value: &String| match show.noevaluate {
            true => value.clone(),
            false => macros.expand(value).into_owned(),
        };
        let rows = known.iter().map(|(name, value)| (name.clone(), shown(value)));
        Ok(Output::written(rows.collect(), write_table))
    });
}
