// JSON-RPC over the standard streams of a language server. It knows nothing of VS Code.
'use strict';
const { spawn } = require('child_process');

class Client {
    // handlers: method -> function(params) of notifications and requests of the server; a
    // request's result, or the promise of one, is its answer. ended(reason) is called once.
    constructor(command, args, cwd, handlers, ended) {
        this.handlers = handlers;
        this.ended = ended;
        this.pending = new Map();
        this.last = 0;
        this.input = Buffer.alloc(0);
        this.process = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'ignore'] });
        this.process.stdin.on('error', () => { });
        this.process.stdout.on('data', (data) => this.read(data));
        this.process.on('error', (error) => this.end(error.message));
        this.process.on('exit', (code, signal) => this.end(signal ? `signal ${signal}` : `exit status ${code}`));
    }

    end(reason) {
        const ended = this.ended;
        this.ended = null;
        for (const { reject } of this.pending.values()) reject(new Error(reason));
        this.pending.clear();
        if (ended) ended(reason);
    }

    send(message) {
        const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
        if (!this.ended) return;
        this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
        this.process.stdin.write(body);
    }

    notify(method, params) {
        this.send({ method, params });
    }

    // token: a CancellationToken of VS Code, or undefined.
    request(method, params, token) {
        const id = ++this.last;
        return new Promise((resolve, reject) => {
            if (!this.ended) {
                reject(new Error('the server has ended'));
                return;
            }
            const listener = token && token.onCancellationRequested(() => this.notify('$/cancelRequest', { id }));
            const done = (settle) => (value) => {
                if (listener) listener.dispose();
                settle(value);
            };
            this.pending.set(id, { resolve: done(resolve), reject: done(reject) });
            this.send({ id, method, params });
        });
    }

    read(data) {
        this.input = Buffer.concat([this.input, data]);
        for (;;) {
            const end = this.input.indexOf('\r\n\r\n');
            const header = end < 0 ? null : /Content-Length: *(\d+)/i.exec(this.input.toString('latin1', 0, end));
            if (!header) return;
            const from = end + 4, to = from + Number(header[1]);
            if (this.input.length < to) return;
            const message = JSON.parse(this.input.toString('utf8', from, to));
            this.input = this.input.subarray(to);
            this.take(message);
        }
    }

    take(message) {
        if (message.method === undefined) {
            const waiting = this.pending.get(message.id);
            this.pending.delete(message.id);
            if (waiting && message.error) waiting.reject(new Error(message.error.message));
            else if (waiting) waiting.resolve(message.result);
            return;
        }
        const handler = this.handlers[message.method];
        if (message.id === undefined) {
            if (handler) handler(message.params);
        } else if (!handler) {
            this.send({ id: message.id, error: { code: -32601, message: 'unknown method' } });
        } else {
            Promise.resolve(handler(message.params)).then(
                (result) => this.send({ id: message.id, result: result === undefined ? null : result }),
                (error) => this.send({ id: message.id, error: { code: -32603, message: error.message } }));
        }
    }

    // Ends the server as the protocol wants; a second later by force.
    async stop() {
        const ended = new Promise((resolve) => { this.process.once('exit', resolve); });
        this.ended = this.ended && (() => { });
        const kill = setTimeout(() => this.process.kill(), 1000);
        try {
            await this.request('shutdown', null);
            this.notify('exit', null);
        } catch (error) {
            this.process.kill();
        }
        await ended;
        clearTimeout(kill);
    }
}

module.exports = { Client };
