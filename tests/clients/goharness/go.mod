module tidemill/tests/clients/goharness

go 1.24
