from sigcontract.cli.main import console as console
