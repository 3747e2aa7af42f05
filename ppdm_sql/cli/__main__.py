"""`python -m ppdm_sql.cli` is `ppdm-sql`."""

import sys

from ppdm_sql.cli.main import main

sys.exit(main())
