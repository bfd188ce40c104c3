// Drives the console in Chromium: node test.mjs CHROMIUM PORT TOKEN [FOLDER-OF-PICTURES]
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

const [program, port, token, pictures] = process.argv.slice(2);
const path = program.includes('/') ? program : execFileSync('sh', ['-c', `command -v ${program}`]).toString().trim();
const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] });
const base = `http://127.0.0.1:${port}/`;
const faults = [];

async function open(width, height, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  page.setDefaultTimeout(30000);
  page.on('pageerror', (e) => faults.push(e.message));
  page.on('console', (m) => m.type() === 'error' && /Content Security|Refused/.test(m.text()) && faults.push(m.text()));
  page.on('request', (r) => r.url().startsWith(base) || r.url().startsWith('data:') || r.url().startsWith('blob:') || faults.push(`asked for ${r.url()}`));
  return page;
}
const view = async (page, name) => { await page.click(`nav a[href="#/${name}"]`); await page.waitForSelector(`nav a[href="#/${name}"][aria-current]`); };
/** What the rules of accessibility find wrong with a page. The console's policy lets no script in: it is evaluated. */
const source = readFileSync(axe, 'utf8');
async function accessible(page, name) {
  await page.evaluate(source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html).join(' ')}`), [], name);
}
const picture = async (page, name) => { if (pictures) await page.screenshot({ path: `${pictures}/${name}.png` }); };

try {
  const page = await open(1440, 900, 'light');

  // A wrong token opens nothing.
  await page.goto(base);
  await page.fill('input[type=password]', '0000000000000000000000000000');
  await page.click('button.main');
  await page.waitForSelector('[role=alert]:has-text("not known")');
  assert.equal(await page.locator('nav').count(), 0);
  await picture(page, 'door');
  await page.fill('input[type=password]', token);
  await page.keyboard.press('Enter');

  // The overview comes first, with health, ports and the last hour.
  await page.waitForSelector('section[aria-label=Health] .tag');
  await page.waitForSelector('section[aria-label="Busiest ports"] td:has-text("pg0")');
  await page.waitForSelector('section[aria-label=Processor] .big:has-text("%")');
  await page.waitForSelector('.uplot canvas');
  await accessible(page, 'overview');
  await picture(page, 'overview-light');

  // The graph draws, its numbers move, and idle nodes are not in the way.
  await view(page, 'graph');
  await page.waitForSelector('[data-node=ip4-lookup]');
  await page.waitForSelector('[data-node=ip4-rewrite]');
  await page.waitForFunction(() => /[1-9]/.test(document.querySelector('[data-node=ip4-lookup] .figures')?.textContent ?? ''));
  await page.waitForFunction(() => document.querySelectorAll('path.edge.busy').length >= 4);
  const busy = await page.locator('.node').count();
  await page.check('text=idle nodes');
  await page.waitForFunction((n) => document.querySelectorAll('.node').length >= n, busy);
  await page.uncheck('text=idle nodes');
  await page.focus('[data-node=ip4-lookup]');
  await page.keyboard.press('Enter');
  const packets = page.locator('aside dd').first();
  const before = await packets.textContent();
  await page.waitForFunction((then) => document.querySelector('aside dd').textContent !== then, before);
  assert.match(await page.locator('aside').textContent(), /ip4-rewrite/);
  await accessible(page, 'graph');
  await picture(page, 'graph-light');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('aside').count(), 0);

  // Dark and light, by the switch.
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), 'light');
  await page.click('button[aria-label^="Switch"]');
  assert.equal(await theme(), 'dark');
  await picture(page, 'graph-dark');

  // Interfaces are sorted, filtered, and have a page each.
  await view(page, 'interfaces');
  await page.waitForSelector('td:has-text("10.0.0.1/24")');
  await page.click('th button:has-text("In pps")');
  await page.waitForSelector('th[aria-sort=descending] >> text=In pps');
  await page.waitForSelector('tbody tr:first-child >> text=pg0');
  await page.fill('input[type=search]', 'pg1');
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
  await accessible(page, 'interfaces');
  await picture(page, 'interfaces-dark');
  await page.fill('input[type=search]', '');
  await page.click('tbody a:has-text("pg0")');
  await page.waitForSelector('section[aria-label=Facts] dd:has-text("10.0.0.1/24")');
  await page.waitForSelector('section[aria-label=Counters] td:has-text("Received damaged")');
  await page.waitForFunction(() => document.querySelectorAll('.uplot canvas').length === 2);
  await page.click('button:has-text("Set down")');
  await page.waitForSelector('[role=status]:has-text("Set down")');
  await page.click('button:has-text("Set up")');
  await page.waitForSelector('[role=status]:has-text("Set up")');
  await accessible(page, 'port');
  await picture(page, 'port-dark');

  // A drop is shown with its reason, and its packet can be explained.
  await view(page, 'drops');
  await page.waitForSelector('td:has-text("ip4-lookup"), td:has-text("ip4-input"), td:has-text("ip4-drop"), td:has-text("null-node")');
  await accessible(page, 'drops');
  await picture(page, 'drops-dark');
  await page.click('tr:has-text("null-node") button, tr:has-text("ip4-drop") button');
  await page.click('a:has-text("Explain this packet")');
  await page.waitForSelector('[data-test=fate]:has-text("Dropped")');

  // A packet is explained, and its path is in the graph.
  await page.goto(`${base}#/explain`);
  await page.waitForSelector('nav a[href="#/explain"][aria-current]');
  await page.selectOption('select', 'pg0');
  await page.click('button.chip:has-text("UDP")');
  await page.click('button.main');
  await page.waitForSelector('[data-test=fate]:has-text("Sent")');
  assert.ok(await page.locator('.node.step').count() >= 3);
  await accessible(page, 'explain');
  await picture(page, 'explain-dark');
  await page.fill('form input.mono', 'UDP: 10.0.0.2 -> 99.0.0.1 UDP: 1 -> 2 incrementing 20');
  await page.click('button.main');
  await page.waitForSelector('[data-test=fate]:has-text("Dropped")');
  await picture(page, 'explain-drop-dark');
  await page.fill('form input.mono', 'UDP 8.8.8.8');
  await page.click('button.main');
  await page.waitForSelector('[role=alert]');
  assert.doesNotMatch(await page.locator('[role=alert]').textContent(), /no such command/);
  await picture(page, 'explain-wrong-dark');

  // A route is found and readable; those that every router has are hidden.
  await view(page, 'tables');
  await page.waitForSelector('td:has-text("16.0.0.0/8")');
  assert.equal(await page.locator('td:has-text("240.0.0.0/4")').count(), 0);
  await page.check('text=built-in routes');
  await page.waitForSelector('td:has-text("240.0.0.0/4")');
  await page.fill('form input.mono', '16.0.0.1');
  await page.click('button:has-text("Search")');
  await page.waitForSelector('[role=status]:has-text("Longest match for 16.0.0.1")');
  await page.waitForSelector('tr:has-text("16.0.0.0/8") td:has-text(" via pg1")');
  assert.doesNotMatch(await page.locator('tbody').textContent(), /\[@/);
  await accessible(page, 'tables');
  await picture(page, 'tables-dark');

  // Sessions come a page at a time, and are searched by the router.
  await view(page, 'sessions');
  await page.waitForSelector('[role=status]:has-text("sessions in the table")');
  await page.fill('input[type=search]', 'nonsense.word');
  await page.click('button:has-text("Search")');
  await page.waitForSelector('[role=alert]:has-text("nonsense.word")');
  await accessible(page, 'sessions');

  // Packets are traced and captured.
  await view(page, 'trace');
  await page.fill('input[list]', 'pg-input');
  await page.click('form button.main');
  await page.waitForSelector('[role=option]');
  await page.waitForSelector('ol.steps li b:has-text("ip4-lookup")');
  await accessible(page, 'trace');
  await picture(page, 'trace-dark');
  await page.click('button:has-text("Show in graph")');
  await page.waitForSelector('.node.step');
  await view(page, 'capture');
  await page.fill('input.mono', 'udp and dst host 16.0.0.1');
  await page.click('button:has-text("Start")');
  await page.waitForSelector('[role=status]:has-text("Running")');
  await accessible(page, 'capture');
  await page.click('button:has-text("Stop")');
  await page.waitForSelector('a[download]');

  // A mistake in the configuration is marked where it is; a difference stands side by side.
  await view(page, 'configuration');
  await page.waitForFunction(() => document.querySelector('textarea').value.includes('16.0.0.0/8'));
  const good = await page.inputValue('textarea');
  await page.fill('textarea', `${good}set interface state nosuch up\n`);
  await page.click('button:has-text("Check")');
  await page.waitForSelector('#editor-fault:has-text("nosuch")');
  assert.equal(Number(await page.locator('.gutter .bad').textContent()), good.split('\n').length);
  await picture(page, 'configuration-wrong-dark');
  await page.fill('textarea', `${good}create loopback interface\n`);
  await page.click('button:has-text("Compare")');
  await page.waitForSelector('td.plus:has-text("create loopback interface")');
  await accessible(page, 'configuration');
  await picture(page, 'configuration-dark');
  await page.click('button:has-text("Apply, confirm within")');
  await page.waitForSelector('[role=alert]:has-text("Without a commit")');
  await page.click('[role=alert] button');
  await page.waitForSelector('[role=status]:has-text("Committed")');

  // Commands are completed, run and remembered.
  await view(page, 'terminal');
  await page.fill('form input.mono', 'show vers');
  await page.press('form input.mono', 'Tab');
  await page.waitForFunction(() => document.querySelector('form input.mono').value === 'show version ');
  await page.press('form input.mono', 'Enter');
  await page.waitForSelector('pre:has-text("ferrovia")');
  await page.press('form input.mono', 'ArrowUp');
  assert.equal(await page.inputValue('form input.mono'), 'show version');
  await accessible(page, 'commands');

  // Light, on a wide screen: views that were dark above.
  const wide = await open(1920, 1080, 'light');
  await wide.goto(`${base}#token=${token}`);
  await wide.waitForSelector('nav');
  for (const name of ['overview', 'graph', 'interfaces', 'drops', 'tables', 'sessions', 'explain', 'trace', 'capture', 'configuration', 'terminal']) {
    await view(wide, name);
    if (name === 'explain') {
      await wide.fill('form input.mono', 'UDP: 10.0.0.2 -> 99.0.0.1 UDP: 1 -> 2 incrementing 20');
      await wide.click('button.main');
      await wide.waitForSelector('[data-test=fate]:has-text("Dropped")');
    }
    await wide.waitForTimeout(700);
    assert.ok(await wide.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${name} is too wide`);
    await accessible(wide, `${name}, light`);
    await picture(wide, `${name}-wide-light`);
  }
  // The same on a telephone: nothing sticks out.
  const narrow = await open(390, 800, 'dark');
  await narrow.goto(`${base}#token=${token}`);
  await narrow.waitForSelector('nav');
  assert.ok(!narrow.url().includes(token));
  assert.equal(await narrow.evaluate(() => document.documentElement.dataset.theme), 'dark');
  for (const name of ['overview', 'graph', 'interfaces', 'interfaces/pg0', 'drops', 'tables', 'sessions', 'explain', 'configuration']) {
    await narrow.evaluate((to) => { location.hash = to; }, name);
    await narrow.waitForTimeout(700);
    const link = await narrow.locator(`nav a[href="#/${name.split('/')[0]}"]`).boundingBox();
    assert.ok(link && link.x >= 0 && link.x + link.width <= 390, `the link to ${name} is out of sight`);
    assert.ok(await narrow.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${name} is too wide`);
    // The numbers are in sight, not behind a table's edge.
    const hidden = await narrow.evaluate(() => [...document.querySelectorAll('td.num')].filter((c) => c.offsetParent && c.getBoundingClientRect().right > innerWidth).length);
    assert.equal(hidden, 0, `numbers of ${name} are out of sight`);
    await picture(narrow, `${name.replace('/', '-')}-narrow`);
  }
  assert.deepEqual(faults, []);
  console.log('all is shown');
} finally {
  await browser.close();
}
