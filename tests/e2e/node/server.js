// SPDX-License-Identifier: GPL-2.0-or-later
// A socket.io server as its library makes it: server.js ADDRESS PORT WORK_MS. Each session costs WORK_MS of CPU time when it is let in, as
// looking up its user would. SIGUSR2 cuts every connection, as a failing link or balancer does.
'use strict';
const http = require('http');
const { Server } = require('socket.io');

const [address, port, workMs] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const server = http.createServer();
const connections = new Set();

function spendCpu(ms) {
	const began = process.cpuUsage();

	for (;;) {
		const spent = process.cpuUsage(began);

		if (spent.user + spent.system >= ms * 1000)
			return;
	}
}

new Server(server).use((socket, next) => {
	spendCpu(workMs);
	next();
});
server.on('connection', (connection) => {
	connections.add(connection);
	connection.on('close', () => connections.delete(connection));
});
process.on('SIGUSR2', () => {
	for (const connection of connections)
		connection.resetAndDestroy();
});
server.listen(port, address, () => console.log('ready'));
