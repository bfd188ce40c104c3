//! The language of startup.conf.

use control::config::Config;

use crate::Target;

/// Any text is a configuration or refused with a reason.
pub struct Configuration;

impl Target for Configuration {
    const NAME: &'static str = "configuration";

    fn seeds(&self) -> Vec<Vec<u8>> {
        let texts = [
            "unix { nodaemon cli-listen /run/x.sock runtime-dir /run log /tmp/l exec /f } cpu { \
             main-core 1 corelist-workers 2-3,18-19 workers 2 skip-cores 4 } # comment\n",
            "buffers { buffers-per-numa 16384 default data-size 2048 page-size 4k }",
            "node { default { variant icl } ip4-lookup { variant hsw 3 } }",
            "plugins { path /p plugin default { disable } plugin acl_plugin.so {enable} }",
            "statseg { socket-name /t size 64M per-node-counters on update-interval 0.5 }",
            "logging { default-log-level debug class ip { level info rate-limit 10 } }",
            "memory { main-heap-size 1G } physmem { max-size 32m } api-trace { on nitems 9 }",
            "ip { heap-size 1G } l3fib { x } socksvr { default } session { enable evt_qs 1 }",
        ];
        texts.map(|text| text.as_bytes().to_vec()).to_vec()
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        let text = String::from_utf8_lossy(input);
        for parsed in [Config::parse(&text, &[]), Config::parse_file(&text, &[])] {
            if let Err(why) = parsed
                && why.to_string().is_empty()
            {
                return Err("refused without a reason".to_owned());
            }
        }
        Ok(())
    }
}
