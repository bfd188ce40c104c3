//! `linux-cp { }` of the startup configuration.

use net::prelude::*;

use super::Settings;

/// Reads the stanzas.
pub(super) fn read(parts: &Parts<'_>) -> Result<Settings, Refused> {
    let mut settings = Settings::default();
    for stanza in parts.router.stanzas.iter().filter(|stanza| stanza.word == "linux-cp") {
        let mut args = stanza.args();
        while !args.is_empty() {
            let name = args.keyword("default netns") || args.keyword("default-netns");
            if name {
                settings.namespace = args.value("netns").map_err(refuse)?;
                super::check_namespace(&settings.namespace).map_err(refuse)?;
            } else if args.keyword("lcp-sync") {
                settings.is_synced = true;
            } else if args.keyword("lcp-auto-subint") {
                settings.has_auto_subs = true;
            } else if args.keyword("lcp-sync-unnumbered") {
                settings.ignores_unnumbered = false;
            } else if args.keyword("del-static-on-link-down") {
                settings.deletes_static = true;
            } else if args.keyword("del-dynamic-on-link-down") {
                settings.deletes_dynamic = true;
            } else {
                return Err(refuse(format_args!("linux-cp: {}", args.unknown())));
            }
        }
    }
    Ok(settings)
}
