//! Everything this daemon can do.

use control::config::{Plugins, Switch};
use control::feature::unmet;
use net::{Feature, Origin};

/// The features that the configuration leaves on. `plugin default { disable }` is about plugins;
/// everything else goes only when it is named. A plugin that nobody named goes along with one that
/// it requires.
///
/// # Errors
/// One is off that another one requires: the message.
pub fn enabled(plugins: &Plugins) -> Result<Vec<&'static Feature>, String> {
    let named = Plugins { default: None, ..plugins.clone() };
    let mut on: Vec<_> =
        plugins::features().filter(|f| is_on(f, &named, plugins.default)).collect();
    while let Some((name, missing)) = unmet(&on) {
        let goes_along = |f: &&Feature| f.name == name && f.origin == Origin::Plugin;
        if !on.iter().any(goes_along) || named.switch(name).is_some() {
            return Err(format!(
                "plugins: {missing} is disabled, and {name} requires it: disable both or none"
            ));
        }
        on.retain(|f| f.name != name);
    }
    Ok(on)
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
        assert_eq!(why, "plugins: ra is disabled, and rd-cp requires it: disable both or none");
        let both = names("plugins { plugin ra { disable } plugin rd_cp_plugin.so { disable } }");
        assert!(!both.unwrap().contains(&"ra"));
    }

    #[test]
    fn plugins_go_along_with_what_they_require() {
        let without = names("plugins { plugin ping_plugin.so { disable } }").unwrap();
        assert!(!without.contains(&"ping") && !without.contains(&"traceroute"));
        let both = "plugins { plugin ping_plugin.so { disable } plugin traceroute { enable } }";
        let why = names(both).unwrap_err();
        assert!(why.contains("ping is disabled, and traceroute requires it"), "{why}");
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
