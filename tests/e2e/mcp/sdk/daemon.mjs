// A sandboxd of the test's own on a free loopback port.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export class Daemon {
  static async start(programs) {
    const daemon = new Daemon();
    daemon.directory = mkdtempSync(join(tmpdir(), 'sandbox-mcp-sdk.'));
    const address = join(daemon.directory, 'address');
    daemon.log = '';
    daemon.process = spawn(join(programs, 'sandboxd'), ['--dev'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...process.env,
        SANDBOX__SERVER__BIND: '127.0.0.1:0',
        SANDBOX__SERVER__ADDRESS_FILE: address,
        SANDBOX__NODE__STATE_DIR: join(daemon.directory, 'state'),
      },
    });
    daemon.process.stderr.on('data', (data) => (daemon.log += data));
    for (let tries = 0; !(existsSync(address) && daemon.log.includes('node registered')); ++tries) {
      if (tries > 1200 || daemon.process.exitCode !== null) throw new Error(`sandboxd did not start: ${daemon.log}`);
      await sleep(50);
    }
    daemon.url = `http://${readFileSync(address, 'utf8').trim()}`;
    return daemon;
  }

  async get(target) {
    return (await fetch(this.url + target)).json();
  }

  async stop() {
    if (this.process.exitCode === null) {
      this.process.kill('SIGTERM');
      await once(this.process, 'exit');
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}
