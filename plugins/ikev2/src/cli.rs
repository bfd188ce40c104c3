//! IKEv2 commands.

mod profile;

use control::cli::Error as CliError;
use net::prelude::*;

use super::configure;
use super::machine::Settings;
use super::{Error, Ikev2, api, initiate, show};
use profile::SetProfile;

/// Initiates, deletes and rekeys associations. SPIs are the initiator's, in hexadecimal.
#[derive(Debug, PartialEq)]
enum Initiate {
    Begin(String),
    DeleteChild(u32),
    Delete(u64),
    RekeyChild(u32),
}

fn hex(word: Option<&str>) -> Option<u64> {
    let word = word?;
    u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
}

impl Command for Initiate {
    const PATHS: &'static [&'static str] = &["ikev2 initiate"];
    const ABOUT: &'static str = "Initiate, delete or rekey associations";
    const USAGE: &'static str =
        "sa-init <profile>|del-child-sa <spi>|del-sa <spi>|rekey-child-sa <spi>";
    fn parse(args: &mut control::cli::Args<'_>) -> Result<Self, CliError> {
        if args.keyword("sa-init") {
            return Ok(Self::Begin(args.value("profile")?));
        }
        let start = *args;
        let narrow = |spi: Option<u64>| spi.and_then(|spi| u32::try_from(spi).ok());
        let wrong = |at: &control::cli::Args<'_>| at.error("expected an SPI in hexadecimal");
        if args.keyword("del-child-sa") {
            let at = *args;
            return narrow(hex(args.word())).map(Self::DeleteChild).ok_or_else(|| wrong(&at));
        }
        if args.keyword("del-sa") {
            let at = *args;
            return hex(args.word()).map(Self::Delete).ok_or_else(|| wrong(&at));
        }
        if args.keyword("rekey-child-sa") {
            let at = *args;
            return narrow(hex(args.word())).map(Self::RekeyChild).ok_or_else(|| wrong(&at));
        }
        Err(start.unknown())
    }
}

/// Load the local private key, and any certificates, from a PEM file.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set ikev2 local key")]
#[stage(Objects)]
#[undo("=set ikev2 local key none")]
struct SetKey {
    /// the file, or `none` to remove the key
    #[positional]
    file: String,
}

/// Set the interval of liveness checks, and after how many without an answer a peer is dead.
#[derive(Command, Print, Debug, PartialEq)]
#[command("ikev2 set liveness")]
#[stage(Objects)]
#[undo("=ikev2 set liveness 30 3")]
struct SetLiveness {
    /// seconds of silence before a check
    #[positional]
    period: u32,
    /// number of checks
    #[positional]
    max_retries: u32,
}

/// Disable liveness checks of silent peers.
#[derive(Command, Print, Debug, PartialEq)]
#[command("ikev2 dpd disable")]
#[stage(Objects)]
#[undo("=ikev2 dpd enable")]
struct DisableDpd;

/// Enable liveness checks of silent peers (the default).
#[derive(Command)]
#[command("ikev2 dpd enable")]
struct EnableDpd;

/// Set the interval of the timer process.
#[derive(Command, Print, Debug, PartialEq)]
#[command("ikev2 set sleep interval")]
#[stage(Objects)]
#[undo("=ikev2 set sleep interval 2")]
struct SetSleep {
    /// seconds
    #[positional]
    timeout: f64,
}

/// Show the interval of the timer process.
#[derive(Command)]
#[command("show ikev2 sleep interval")]
struct ShowSleep;

/// Show the profiles.
#[derive(Command)]
#[command("show ikev2 profile")]
struct ShowProfiles;

/// Show associations and their child SAs, without keys.
#[derive(Command)]
#[command("show ikev2 sa")]
struct ShowSas {
    /// SPI of the responder, in hexadecimal
    rspi: Option<String>,
    /// include algorithms, identities and traffic selectors
    details: bool,
}

#[derive(Serialize)]
struct Sleep {
    seconds: f64,
}

impl std::fmt::Display for Sleep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "Sleep interval: {:.2}", self.seconds)
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let all = router.own::<Ikev2>();
    if let Some(file) = &all.key_file {
        lines.push(&SetKey { file: file.clone() });
    }
    let (settings, default) = (all.machine.settings, Settings::default());
    let (period, max_retries) = (settings.period, settings.retries);
    if (period, max_retries) != (default.period, default.retries) {
        lines.push(&SetLiveness { period, max_retries });
    }
    if !settings.asks_silent {
        lines.push(&DisableDpd);
    }
    if all.sleep != 2.0 {
        lines.push(&SetSleep { timeout: all.sleep });
    }
    for profile in all.machine.profiles.values() {
        profile::configuration(profile, lines);
    }
}

fn initiate(router: &mut Router, c: &Initiate) -> Result<(), Error> {
    match c {
        Initiate::Begin(name) => initiate::begin(router, name),
        Initiate::DeleteChild(spi) => api::on_child(router, *spi, |machine, now, child| {
            machine.delete_child(now, child);
        }),
        Initiate::RekeyChild(spi) => api::on_child(router, *spi, |machine, now, child| {
            machine.rekey_child(now, child);
        }),
        Initiate::Delete(spi) => api::delete(router, *spi),
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Initiate| Ok::<_, CliError>(initiate(router, &c)?));
    cli.command(|router: &mut Router, c: SetProfile| Ok::<_, CliError>(profile::set(router, c)?));
    cli.command(|router: &mut Router, c: SetKey| {
        Ok::<_, CliError>(configure::set_key(router, &c.file)?)
    });
    cli.command(|router: &mut Router, c: SetLiveness| {
        api::set_liveness(router, c.period, c.max_retries);
        Ok(())
    });
    cli.command(|router: &mut Router, _: DisableDpd| {
        router.own_mut::<Ikev2>().machine.settings.asks_silent = false;
        Ok(())
    });
    cli.command(|router: &mut Router, _: EnableDpd| {
        router.own_mut::<Ikev2>().machine.settings.asks_silent = true;
        Ok(())
    });
    cli.command(|router: &mut Router, c: SetSleep| {
        Ok::<_, CliError>(api::set_sleep(router, c.timeout)?)
    });
    cli.command(|router: &mut Router, _: ShowSleep| {
        Ok(Output::of(Sleep { seconds: router.own::<Ikev2>().sleep }))
    });
    cli.command(|router: &mut Router, _: ShowProfiles| Ok(show::profiles(router)));
    cli.command(|router: &mut Router, c: ShowSas| {
        let wanted = match &c.rspi {
            None => None,
            Some(word) => match hex(Some(word)) {
                Some(spi) => Some(spi),
                None => return Err(CliError::new("rspi: expected a hexadecimal number")),
            },
        };
        Ok(show::sas(router, wanted, c.details))
    });
}
