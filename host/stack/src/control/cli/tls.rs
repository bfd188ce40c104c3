//! `show app certificate`, and TLS profiles of applications.

use std::fmt;

use control::cli::{Args, Cli, Command, Error, Output};
use net::Router;
use serde::Serialize;

use super::super::profiles::{self, Profile, Version, Versions};
use super::super::{apps, certificates};

/// Show certificates of applications, without keys.
#[derive(Command)]
#[command("show app certificate")]
struct ShowCertificates;

#[derive(Serialize)]
struct CertificateRow {
    index: u32,
    chain: usize,
    sha256: String,
}

fn write_certificate_rows(rows: &[CertificateRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for CertificateRow { index, chain, sha256 } in rows {
        writeln!(f, "[{index}] {chain} in chain, SHA-256 {sha256}")?;
    }
    Ok(())
}

/// `app crypto add tls-profile app APP [cipher-list L] …`.
struct AddProfile {
    app: String,
    profile: Profile,
}

impl Command for AddProfile {
    const PATHS: &'static [&'static str] = &["app crypto add tls-profile"];
    const ABOUT: &'static str = "Add a TLS profile to an application";
    const USAGE: &'static str = "app <app> [cipher-list <list>] [ciphersuites <list>] \
         [groups <list>] [min-version 1.2|1.3] [max-version 1.2|1.3]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut app, mut lists) = (None, [const { String::new() }; 3]);
        let mut versions = Versions::default();
        while !args.is_empty() {
            if args.keyword("app") {
                app = Some(args.value("application")?);
            } else if args.keyword("cipher-list") {
                lists[0] = args.value("list")?;
            } else if args.keyword("ciphersuites") {
                lists[1] = args.value("list")?;
            } else if args.keyword("groups") {
                lists[2] = args.value("list")?;
            } else if args.keyword("min-version") {
                versions.0 = version(args)?;
            } else if args.keyword("max-version") {
                versions.1 = version(args)?;
            } else {
                return Err(args.unknown());
            }
        }
        let app = app.ok_or_else(|| args.error("expected app"))?;
        let [ciphers, suites, groups] = &lists;
        let profile = Profile::read([ciphers, suites, groups], versions).map_err(Error::new)?;
        Ok(Self { app, profile })
    }
}

fn version(args: &mut Args<'_>) -> Result<Version, Error> {
    let word: String = args.value("version")?;
    word.parse().map_err(|why: String| Error::new(why))
}

/// Delete a TLS profile of an application.
#[derive(Command)]
#[command("app crypto del tls-profile")]
struct DelProfile {
    /// name or index of the application
    app: String,
    /// index of the profile
    #[positional]
    profile: u32,
}

/// Show TLS profiles of applications.
#[derive(Command)]
#[command("show app tls-profile")]
struct ShowProfiles {
    /// only those of this application, by name or index
    app: Option<String>,
}

#[derive(Serialize)]
struct ProfileRow {
    app: u32,
    index: u32,
    #[serde(flatten)]
    profile: Profile,
}

fn write_profile_rows(rows: &[ProfileRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for ProfileRow { app, index, profile } in rows {
        let list = |names: &[&str]| match names {
            [] => "all".to_owned(),
            names => names.join(":"),
        };
        let Profile { ciphers, suites, groups, versions } = profile;
        writeln!(f, "app {app} profile {index}: versions {} to {}", versions.0, versions.1)?;
        writeln!(f, "  cipher-list {}", list(ciphers))?;
        writeln!(f, "  ciphersuites {}", list(suites))?;
        writeln!(f, "  groups {}", list(groups))?;
    }
    Ok(())
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, _: ShowCertificates| {
        let rows = certificates::all(router).map(|(index, found)| CertificateRow {
            index,
            chain: found.chain_len(),
            sha256: found.fingerprint(),
        });
        Ok(Output::rows(rows, write_certificate_rows))
    });
    cli.command(|router: &mut Router, c: AddProfile| {
        let app = apps::find(router, &c.app)?;
        let index = profiles::add(router, app, c.profile)?;
        Ok(Output::text(format!("profile {index}")))
    });
    cli.command(|router: &mut Router, c: DelProfile| {
        let app = apps::find(router, &c.app)?;
        Ok(profiles::remove(router, app, c.profile)?)
    });
    cli.command(|router: &mut Router, c: ShowProfiles| {
        let only = c.app.map(|app| apps::find(router, &app)).transpose()?;
        let all = profiles::all(router).filter(|(app, ..)| only.is_none_or(|only| only == *app));
        let rows =
            all.map(|(app, index, profile)| ProfileRow { app, index, profile: profile.clone() });
        Ok(Output::rows(rows, write_profile_rows))
    });
}
