#!/usr/bin/env node
console.log("stub");
