// Drives the console in Chromium: node test.mjs CHROMIUM PORT TOKEN [FOLDER-OF-PICTURES]
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chromium } from 'playwright-core';

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
const view = async (page, name) => { await page.click(`nav a[href="#${name}"]`); await page.waitForSelector(`nav a[href="#${name}"][aria-current]`); };
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

  // The graph draws, and its numbers move.
  await page.waitForSelector('[data-node=ip4-lookup]');
  await page.waitForSelector('[data-node=ip4-rewrite]');
  await page.waitForFunction(() => /[1-9]/.test(document.querySelector('[data-node=ip4-lookup] .figures')?.textContent ?? ''));
  await page.waitForFunction(() => document.querySelectorAll('path.edge.busy').length >= 4);
  await page.focus('[data-node=ip4-lookup]');
  await page.keyboard.press('Enter');
  const packets = page.locator('aside dd').first();
  const before = await packets.textContent();
  await page.waitForFunction((then) => document.querySelector('aside dd').textContent !== then, before);
  assert.match(await page.locator('aside').textContent(), /ip4-rewrite/);
  await picture(page, 'graph-light');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('aside').count(), 0);

  // Dark and light, by the switch.
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), 'light');
  await page.click('button[aria-label^="Switch"]');
  assert.equal(await theme(), 'dark');
  await picture(page, 'graph-dark');

  // Interfaces have rates and charts.
  await view(page, 'interfaces');
  await page.waitForSelector('td:has-text("10.0.0.1/24")');
  await page.waitForSelector('.uplot canvas');
  await picture(page, 'interfaces-dark');

  // A drop is shown with its reason.
  await view(page, 'drops');
  await page.waitForSelector('td:has-text("ip4-lookup"), td:has-text("ip4-input"), td:has-text("ip4-drop"), td:has-text("null-node")');
  await picture(page, 'drops-dark');

  // A packet is explained, and its path is in the graph.
  await view(page, 'explain');
  await page.selectOption('select', 'pg0');
  await page.click('button.main');
  await page.waitForSelector('[data-test=fate]:has-text("sent")');
  assert.ok(await page.locator('.node.step').count() >= 3);
  await picture(page, 'explain-dark');
  await page.fill('form input.mono', 'UDP: 10.0.0.2 -> 99.0.0.1 UDP: 1 -> 2 incrementing 20');
  await page.click('button.main');
  await page.waitForSelector('[data-test=fate]:has-text("dropped")');
  await picture(page, 'explain-drop-dark');

  // A route is found, packets are traced, a configuration is compared.
  await view(page, 'tables');
  await page.fill('form input.mono', '16.0.0.1');
  await page.click('button:has-text("Look")');
  await page.waitForSelector('td:has-text("16.0.0.0/8")');
  await picture(page, 'tables-dark');
  await view(page, 'trace');
  await page.fill('input[list]', 'pg-input');
  await page.click('form button.main');
  await page.waitForSelector('[role=option]');
  await picture(page, 'trace-dark');
  await page.click('button:has-text("Show in the graph")');
  await page.waitForSelector('.node.step');
  await view(page, 'configuration');
  await page.waitForFunction(() => document.querySelector('textarea').value.includes('16.0.0.0/8'));
  await page.locator('textarea').press('Control+End');
  await page.locator('textarea').pressSequentially('create loopback interface');
  await page.click('button:has-text("Difference")');
  await page.waitForSelector('.plus:has-text("create loopback interface")');
  await picture(page, 'configuration-dark');
  await page.click('button:has-text("Replace, confirm within")');
  await page.waitForSelector('[role=alert]:has-text("Without a commit")');
  await page.click('[role=alert] button');
  await page.waitForSelector('[role=status]:has-text("Committed")');

  // Light, on a wide screen: views that were dark above.
  const wide = await open(1920, 1080, 'light');
  await wide.goto(`${base}#token=${token}`);
  await wide.waitForSelector('[data-node=ip4-lookup]');
  for (const name of ['graph', 'interfaces', 'drops', 'tables', 'explain', 'trace', 'capture', 'configuration', 'terminal']) {
    await view(wide, name);
    if (name === 'explain') {
      await wide.fill('form input.mono', 'UDP: 10.0.0.2 -> 99.0.0.1 UDP: 1 -> 2 incrementing 20');
      await wide.click('button.main');
      await wide.waitForSelector('[data-test=fate]:has-text("dropped")');
    }
    await wide.waitForTimeout(700);
    assert.ok(await wide.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${name} is too wide`);
    await picture(wide, `${name}-wide-light`);
  }
  // The same on a telephone: nothing sticks out.
  const narrow = await open(390, 800, 'dark');
  await narrow.goto(`${base}#token=${token}`);
  await narrow.waitForSelector('[data-node=ip4-lookup]');
  assert.ok(!narrow.url().includes(token));
  assert.equal(await narrow.evaluate(() => document.documentElement.dataset.theme), 'dark');
  for (const name of ['graph', 'interfaces', 'drops', 'explain', 'configuration']) {
    await narrow.evaluate((to) => { location.hash = to; }, name);
    await narrow.waitForTimeout(700);
    const link = await narrow.locator(`nav a[href="#${name}"]`).boundingBox();
    assert.ok(link && link.x >= 0 && link.x + link.width <= 390, `the link to ${name} is out of sight`);
    assert.ok(await narrow.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${name} is too wide`);
    await picture(narrow, `${name}-narrow`);
  }
  assert.deepEqual(faults, []);
  console.log('all is shown');
} finally {
  await browser.close();
}
