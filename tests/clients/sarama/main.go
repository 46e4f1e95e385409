// The functional suite of sarama. `sarama member BOOTSTRAP TOPIC GROUP` is a group member that one case kills.
package main

import (
	"os"

	h "tidemill/tests/clients/goharness"
)

func main() {
	if len(os.Args) == 5 && os.Args[1] == "member" {
		lonelyMember(os.Args[2], os.Args[3], os.Args[4])
	}
	registerGroups()
	registerTopics()
	registerRecords()
	registerPlaces()
	registerTimestamps()
	registerSettings()
	registerGroupAdmin()
	h.Main("sarama")
}
