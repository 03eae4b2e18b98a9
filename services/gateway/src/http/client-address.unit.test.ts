import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { clientAddressOf } from './client-address.ts';

interface Case {
  name: string;
  peer?: string;
  forwardedFor?: string;
  trusted?: string[];
  address: string;
}

test.each<Case>([
  { name: 'the peer', peer: '192.0.2.7', address: '192.0.2.7' },
  {
    name: 'the peer, with any header',
    peer: '192.0.2.7',
    forwardedFor: '198.51.100.1',
    address: '192.0.2.7',
  },
  { name: 'an IPv4 peer of an IPv6 socket', peer: '::ffff:192.0.2.7', address: '192.0.2.7' },
  { name: 'the network of an IPv6 peer', peer: '2001:db8:1:2:3:4:5:6', address: '2001:db8:1:2::/64' },
  { name: 'the same network', peer: '2001:db8:1:2:ffff::9', address: '2001:db8:1:2::/64' },
  { name: 'a link-local peer with its zone', peer: 'fe80::1%eth0', address: 'fe80:0:0:0::/64' },
  {
    name: 'the address from a trusted proxy',
    peer: '10.0.0.1',
    forwardedFor: '198.51.100.1',
    trusted: ['10.0.0.0/8'],
    address: '198.51.100.1',
  },
  {
    name: 'the address from the last trusted proxy, not one that a client invented before',
    peer: '10.0.0.1',
    forwardedFor: '203.0.113.9, 198.51.100.1, 10.0.0.2',
    trusted: ['10.0.0.0/8'],
    address: '198.51.100.1',
  },
  {
    name: 'without the port that a proxy adds',
    peer: '10.0.0.1',
    forwardedFor: '198.51.100.1:4711',
    trusted: ['10.0.0.0/8'],
    address: '198.51.100.1',
  },
  {
    name: 'without port and brackets',
    peer: '10.0.0.1',
    forwardedFor: '[2001:db8::1]:4711',
    trusted: ['10.0.0.0/8'],
    address: '2001:db8:0:0::/64',
  },
  {
    name: 'the proxy, when its header has no address',
    peer: '10.0.0.1',
    forwardedFor: 'unknown',
    trusted: ['10.0.0.0/8'],
    address: '10.0.0.1',
  },
  {
    name: 'the client, when the header has only proxies',
    peer: '10.0.0.1',
    forwardedFor: '10.0.0.3, 10.0.0.2',
    trusted: ['10.0.0.0/8'],
    address: '10.0.0.3',
  },
  {
    name: 'the address from trusted proxies that add ports',
    peer: '10.0.0.1',
    forwardedFor: '198.51.100.1:4711, 10.0.0.2:80',
    trusted: ['10.0.0.0/8'],
    address: '198.51.100.1',
  },
  { name: 'nothing, of a connection that has gone', address: '' },
])('is $name', ({ peer, forwardedFor, trusted = [], address }) => {
  const request = {
    socket: { remoteAddress: peer },
    headers: { forwarded: 'for=203.0.113.77', 'x-forwarded-for': forwardedFor },
  };
  expect(clientAddressOf(trusted)(request as unknown as IncomingMessage)).toBe(address);
});
