// The end of signing in again.

import { tellSignedInAgain } from './again.js';

tellSignedInAgain();
