// SPDX-License-Identifier: GPL-2.0-or-later
// Clients of socket.io with the library's own defaults, each with an address of its own: clients.js URL COUNT PARALLEL LIMIT_S
// They come in PARALLEL at a time (a closed loop), stay, and say `full count=N elapsed_ms=T`. From then on each acts by the library's own policy:
// when their connections are cut, they say at the end how long it took until all of them were there again,
// or after LIMIT_S seconds how many are.
'use strict';
const { AsyncLocalStorage } = require('async_hooks');
const net = require('net');
const { io } = require('socket.io-client');

const [url, count, parallel, limitS] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const home = new AsyncLocalStorage();
const connect = net.Socket.prototype.connect;
let started = 0, here = 0, cutAt = 0, attempts = 0, tcp = 0;
const began = Date.now();
const bins = [];

// The library has no option for the address that its polling comes from. Nothing else about its connections changes.
net.Socket.prototype.connect = function (...args) {
	const options = Array.isArray(args[0]) ? args[0][0] : args[0];

	tcp++;
	if (typeof options === 'object' && home.getStore())
		options.localAddress = home.getStore();
	return connect.apply(this, args);
};

function end(back) {
	const elapsed = Date.now() - cutAt;

	console.log(`back count=${back} elapsed_ms=${elapsed} attempts=${attempts} tcp=${tcp} series=${bins.join(',')}`);
	process.exit(0);
}

function arrived() {
	here++;
	if (cutAt) {
		const second = Math.floor((Date.now() - cutAt) / 1000);

		while (bins.length <= second)
			bins.push(0);
		bins[second]++;
		if (here === count)
			end(here);
	} else if (here === count) {
		console.log(`full count=${count} elapsed_ms=${Date.now() - began} tcp=${tcp}`);
	}
	if (started < count)
		start();
}

function left() {
	here--;
	if (cutAt || started < count)
		return;
	cutAt = Date.now();
	tcp = 0;
	setTimeout(() => end(here), limitS * 1000);
}

function start() {
	const number = started++;
	const address = `10.10.${1 + Math.floor(number / 250)}.${1 + number % 250}`;

	home.run(address, () => {
		const socket = io(url, { forceNew: true });

		socket.on('connect', arrived);
		socket.on('disconnect', left);
		socket.io.on('reconnect_attempt', () => attempts++);
	});
}

for (let i = 0; i < Math.min(parallel, count); i++)
	start();
