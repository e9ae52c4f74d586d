// The Mercure hub as a program of its own, without Caddy.
package main

import "github.com/dunglas/mercure/cmd"

func main() { cmd.Execute() }
