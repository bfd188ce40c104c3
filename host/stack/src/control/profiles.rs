//! TLS profiles of applications: versions, cipher suites and groups for their connections.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use net::Router;
use serde::Serialize;

use super::error::Error;
use super::{Control, check_enabled};

/// Limit of profiles of an application.
pub const MOST_PROFILES: usize = 64;

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// TLS 1.2 (RFC 5246).
    Tls12,
    /// TLS 1.3 (RFC 8446).
    Tls13,
}

impl FromStr for Version {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "1.2" => Ok(Self::Tls12),
            "1.3" => Ok(Self::Tls13),
            "ssl3" | "1.0" | "1.1" => {
                Err(format!("TLS version {word} is not secure (RFC 8996): 1.2 or 1.3"))
            }
            _ => Err(format!("unknown TLS version `{word}': 1.2 or 1.3")),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        })
    }
}

/// Cipher suites of TLS 1.2, by their OpenSSL names.
const CIPHERS: [&str; 6] = [
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-CHACHA20-POLY1305",
];
/// Cipher suites of TLS 1.3.
const SUITES: [&str; 3] =
    ["TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"];
/// Key exchange groups.
const GROUPS: [&str; 3] = ["X25519", "P-256", "P-384"];

/// A profile. Lists are in order of preference; an empty list means all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// Cipher suites of TLS 1.2.
    pub ciphers: Vec<&'static str>,
    /// Cipher suites of TLS 1.3.
    pub suites: Vec<&'static str>,
    /// Key exchange groups.
    pub groups: Vec<&'static str>,
    /// Versions.
    #[serde(serialize_with = "as_text")]
    pub versions: Versions,
}

/// Lowest and highest version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions(pub Version, pub Version);

impl Default for Versions {
    fn default() -> Self {
        Self(Version::Tls12, Version::Tls13)
    }
}

fn as_text<S: serde::Serializer>(versions: &Versions, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{} to {}", versions.0, versions.1))
}

/// Parses a list of names separated by `:`.
fn names(
    list: &str,
    what: &'static str,
    known: &'static [&'static str],
) -> Result<Vec<&'static str>, String> {
    let mut found = Vec::new();
    for name in list.split(':').filter(|name| !name.is_empty()) {
        let same = known.iter().find(|known| known.eq_ignore_ascii_case(name));
        let same = *same.ok_or_else(|| {
            format!("unknown or insecure {what} `{name}', supported: {}", known.join(", "))
        })?;
        if !found.contains(&same) {
            found.push(same);
        }
    }
    Ok(found)
}

impl Profile {
    /// Creates a profile from lists and versions as configured.
    ///
    /// # Errors
    /// The reason, as text: an unknown or insecure name, or versions in the wrong order.
    pub fn read([ciphers, suites, groups]: [&str; 3], versions: Versions) -> Result<Self, String> {
        if versions.0 > versions.1 {
            let Versions(first, last) = versions;
            return Err(format!("min-version {first} is above max-version {last}"));
        }
        Ok(Self {
            ciphers: names(ciphers, "cipher", &CIPHERS)?,
            suites: names(suites, "ciphersuite", &SUITES)?,
            groups: names(groups, "group", &GROUPS)?,
            versions,
        })
    }
}

/// Profiles by application and number.
#[derive(Debug, Default)]
pub(super) struct Profiles(BTreeMap<(u32, u32), Profile>);

impl Profiles {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Adds a profile to an application and returns its number there.
///
/// # Errors
/// [`Error::Disabled`], [`Error::TooManyProfiles`].
pub fn add(router: &mut Router, app: u32, profile: Profile) -> Result<u32, Error> {
    check_enabled(router)?;
    let all = &mut router.own_mut::<Control>().profiles.0;
    let of_app = all.range((app, 0)..=(app, u32::MAX)).map(|((_, index), _)| *index);
    let index = of_app.zip(0..).take_while(|(used, index)| used == index).count() as u32;
    if index as usize >= MOST_PROFILES {
        return Err(Error::TooManyProfiles);
    }
    all.insert((app, index), profile);
    Ok(index)
}

/// Deletes a profile of an application.
///
/// # Errors
/// [`Error::Disabled`], [`Error::NoProfile`].
pub fn remove(router: &mut Router, app: u32, index: u32) -> Result<(), Error> {
    check_enabled(router)?;
    let all = &mut router.own_mut::<Control>().profiles.0;
    all.remove(&(app, index)).map(drop).ok_or(Error::NoProfile(index))
}

/// Deletes the profiles of a removed application.
pub(crate) fn forget(router: &mut Router, app: u32) {
    router.own_mut::<Control>().profiles.0.retain(|(of, _), _| *of != app);
}

/// Profiles by application and number.
pub fn all(router: &Router) -> impl Iterator<Item = (u32, u32, &Profile)> {
    router.own::<Control>().profiles.0.iter().map(|((app, index), found)| (*app, *index, found))
}
