//! Everything this daemon can do.

use control::config::{Plugins, Switch};
use control::feature::unmet;
use net::{Feature, Origin};

/// The features enabled by the configuration. `plugin default { disable }` applies to plugins;
/// other features are disabled by name only. A named plugin enables those that it requires, unless
/// they are disabled by name; an unnamed one is disabled along with one that it requires.
///
/// # Errors
/// One is off that another one requires: the message.
pub fn enabled(plugins: &Plugins) -> Result<Vec<&'static Feature>, String> {
    let mut named = Plugins { default: None, ..plugins.clone() };
    let mut on: Vec<_> =
        plugins::features().filter(|f| is_on(f, &named, plugins.default)).collect();
    while let Some((name, missing)) = unmet(&on) {
        let comes_along = |f: &&Feature| f.name == missing && named.switch(missing).is_none();
        if named.switch(name) == Some(Switch::Enable)
            && let Some(required) = plugins::features().find(comes_along)
        {
            named.named.push((missing.to_owned(), Switch::Enable));
            on.push(required);
            continue;
        }
        let goes_along = |f: &&Feature| f.name == name && f.origin == Origin::Plugin;
        if !on.iter().any(goes_along) || named.switch(name).is_some() {
            return Err(format!(
                "plugins: {missing} is disabled, but required by {name}: disable both or none"
            ));
        }
        on.retain(|f| f.name != name);
    }
    // In the order in which they register.
    Ok(plugins::features().filter(|f| on.iter().any(|one| one.name == f.name)).collect())
}

fn is_on(feature: &Feature, named: &Plugins, default: Option<Switch>) -> bool {
    let default = default.filter(|_| feature.origin == Origin::Plugin);
    match named.switch(feature.name).or(default) {
        Some(Switch::Enable) => true,
        Some(Switch::Disable) => false,
        None => feature.default_enabled,
    }
}

#[cfg(test)]
mod tests {
    use control::config::Config;

    use super::*;

    fn names(text: &str) -> Result<Vec<&'static str>, String> {
        let on = enabled(&Config::parse(text, &[]).unwrap().plugins)?;
        Ok(on.into_iter().map(|f| f.name).collect())
    }

    #[test]
    fn features_are_switched_by_name() {
        let all = names("").unwrap();
        assert!(all.contains(&"ethernet"));
        let without = names("plugins { plugin urpf_plugin.so { disable } }").unwrap();
        assert!(!without.contains(&"urpf"));
        assert_eq!(without.len(), all.len() - 1);
        assert_eq!(names("plugins { plugin nosuch.so { enable } }").unwrap(), all);
        assert!(!all.contains(&"ip6_dad_autoremove"));
        let text = "plugins { plugin ip6_dad_autoremove_plugin.so { enable } }";
        assert!(names(text).unwrap().contains(&"ip6_dad_autoremove"));
    }

    #[test]
    fn the_default_is_about_plugins() {
        let text = "plugins { plugin default { disable } plugin ping_plugin.so { enable } }";
        let on = names(text).unwrap();
        for feature in plugins::features() {
            let stays = feature.name == "ping" || feature.origin != Origin::Plugin;
            assert_eq!(on.contains(&feature.name), stays, "{}", feature.name);
        }
    }

    #[test]
    fn what_others_require_stays() {
        let why = names("plugins { plugin ra { disable } }").unwrap_err();
        assert_eq!(why, "plugins: ra is disabled, but required by rd-cp: disable both or none");
        let both = names("plugins { plugin ra { disable } plugin rd_cp_plugin.so { disable } }");
        assert!(!both.unwrap().contains(&"ra"));
    }

    #[test]
    fn plugins_go_along_with_what_they_require() {
        let without = names("plugins { plugin ping_plugin.so { disable } }").unwrap();
        assert!(!without.contains(&"ping") && !without.contains(&"traceroute"));
        let both = "plugins { plugin ping_plugin.so { disable } plugin traceroute { enable } }";
        let why = names(both).unwrap_err();
        assert!(why.contains("ping is disabled, but required by traceroute"), "{why}");
    }

    #[test]
    fn a_named_plugin_comes_with_what_it_requires() {
        let only = |name: &str, more: &str| {
            let named = format!("plugin default {{ disable }} plugin {name} {{ enable }}");
            names(&format!("plugins {{ {named} {more} }}"))
        };
        for feature in plugins::features().filter(|f| f.origin == Origin::Plugin) {
            let on = only(&feature.file(), "").unwrap_or_else(|e| panic!("{}: {e}", feature.name));
            assert!(on.contains(&feature.name), "{}", feature.name);
            assert!(feature.requires.iter().all(|r| on.contains(r)), "{}", feature.name);
        }
        let nat = only("nat_plugin.so", "").unwrap();
        assert!(nat.contains(&"sessions") && !nat.contains(&"acl"), "{nat:?}");
        let why = only("nat_plugin.so", "plugin sessions { disable }").unwrap_err();
        assert_eq!(why, "plugins: sessions is disabled, but required by nat: disable both or none");
        let twice = "plugin sessions { disable } plugin sessions { enable }";
        let before = only("nat_plugin.so", twice);
        assert_eq!(before.unwrap(), nat, "the last one counts");
    }

    #[test]
    fn requirements_are_features_and_nothing_built_in_requires_a_plugin() {
        for feature in plugins::features() {
            for name in feature.requires {
                let required = plugins::features().find(|f| f.name == *name);
                let origin = required.unwrap_or_else(|| panic!("there is no {name}")).origin;
                assert!(origin != Origin::Plugin || feature.origin == origin, "{name}");
            }
        }
    }

    #[test]
    fn no_two_features_share_a_name() {
        let mut all: Vec<_> = plugins::features().map(|f| f.name).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
