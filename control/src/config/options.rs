//! The daemon's command line: a few options, everything else is configuration.

use std::path::PathBuf;

use super::{Config, Error};
use crate::cli::io_text;

/// Longest configuration file in bytes.
const MAX_FILE: u64 = 256 * 1024;

/// The invocation of the program, as its command line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Run with this configuration.
    Run(Options),
    /// Check this configuration and the files that it names, and end.
    Check(Options),
    /// Write the descriptions of all API messages into this folder.
    ApiJson(PathBuf),
    /// Print the version.
    Version,
    /// Print the options.
    Help,
}

/// Options of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Configuration file.
    pub config: Option<PathBuf>,
    /// Command line on standard input.
    pub interactive: bool,
    /// All other words, joined.
    pub words: String,
}

impl Invocation {
    /// Output of `--help`.
    pub const HELP: &'static str = "\
usage: ferrovia [OPTIONS] [CONFIGURATION]
  -c, --config FILE        configuration file
      --check              check the configuration and the files of commands in it
      --api-json FOLDER    write the descriptions of all API messages, *.api.json
  -i, --interactive        command line on standard input
  -v, --version            print the version
  -h, --help               print this
      --no-alloc-intercept accepted, without effect
Without -c the configuration is given in words: unix { nodaemon } cpu { workers 2 }
";

    /// Reads the arguments after the program's name.
    pub fn parse(argv: impl IntoIterator<Item = String>) -> Result<Self, Error> {
        let mut options = Options::default();
        let (mut words, mut checks) = (Vec::new(), false);
        let mut argv = argv.into_iter();
        while let Some(arg) = argv.next() {
            match arg.as_str() {
                "-c" | "--config" => {
                    let file = argv.next();
                    let missing = || Error::new(format!("{arg} needs a file"));
                    options.config = Some(file.ok_or_else(missing)?.into());
                }
                "--check" => checks = true,
                "--api-json" => {
                    let folder = argv.next();
                    let missing = || Error::new("--api-json needs a directory");
                    return Ok(Self::ApiJson(folder.ok_or_else(missing)?.into()));
                }
                "-i" | "--interactive" => options.interactive = true,
                "-v" | "--version" => return Ok(Self::Version),
                "-h" | "--help" => return Ok(Self::Help),
                "--no-alloc-intercept" => {}
                _ => match arg.strip_prefix("--config=") {
                    Some(file) => options.config = Some(file.into()),
                    None => words.push(arg),
                },
            }
        }
        options.words = words.join(" ");
        Ok(if checks { Self::Check(options) } else { Self::Run(options) })
    }
}

impl Options {
    /// Reads the file, then the words, into one configuration. `extra` as in [`Config::parse`].
    pub fn load(&self, extra: &[&str]) -> Result<Config, Error> {
        let mut text = String::new();
        if let Some(path) = &self.config {
            let failed = |why: &str| Error::new(format!("open `{}': {why}", path.display()));
            let size = std::fs::metadata(path).map_err(|e| failed(&io_text(&e)))?.len();
            if size > MAX_FILE {
                return Err(failed("longer than 256 KiB"));
            }
            let file = std::fs::read_to_string(path).map_err(|e| failed(&io_text(&e)))?;
            text = super::stanza::without_comments(&file);
            text.push('\n');
        }
        let file_is_empty = self.config.is_some() && text.trim().is_empty();
        text.push_str(&self.words);
        let mut config = Config { file_is_empty, ..Config::parse(&text, extra)? };
        config.unix.interactive |= self.interactive;
        Ok(config)
    }
}
