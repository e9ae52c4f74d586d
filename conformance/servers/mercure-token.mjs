// Prints a token with which one may publish everything to the hub of mercure-server.mjs.
// usage: node mercure-token.mjs

import { createHmac } from 'node:crypto'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'

export const KEY = 'a-key-of-tests-long-enough-for-HMAC-SHA-256'
const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ mercure: { publish: ['*'] } })}`
export const TOKEN = `${signed}.${createHmac('sha256', KEY).update(signed).digest('base64url')}`
if (argv[1] === fileURLToPath(import.meta.url)) console.log(TOKEN)
